import { clsx } from 'clsx'
import { useNow, useTranslations } from 'next-intl'
import { requestTones } from '#components/requests/request-tones.ts'
import { Badge } from '#components/ui/badge.tsx'
import { usePunctuation } from '#components/ui/punctuation.ts'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import type { RequestView } from '#lib/domains/privacy-requests/contract.ts'

interface OpenPrivacyRequestsProps {
  requests: readonly RequestView[]
  more: number
  /** Names of the person's agents by id. */
  agents: ReadonlyMap<string, string>
}

/** Open requests: what each is, its state and its due date. */
export function OpenPrivacyRequests({ requests, more, agents }: OpenPrivacyRequestsProps) {
  const t = useTranslations('myPrivacy')
  const names = useTranslations('requestNames')
  const { list } = usePunctuation()
  const now = useNow()
  return (
    <div className="grid gap-3">
      <ul className="divide-y divide-line rounded-box border border-line bg-raised">
        {requests.map((request) => {
          const { id, kinds, state, due, agent_id: agent, waiting_until: until, legal_due_at: legal } = request
          const isOverdue = due === 'overdue' && Date.parse(legal) < now.getTime()
          const isWaiting = state === 'waiting' && until !== null && Date.parse(until) > now.getTime()
          return (
            <li key={id} className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-3">
              <TextLink href={`/settings/privacy/requests/${id}`} className="font-medium">
                {list(kinds.map((kind) => names(`kinds.${kind}`)))}
              </TextLink>
              {agent !== null && <span className="text-sm wrap-anywhere text-quiet">{agents.get(agent) ?? agent}</span>}
              <Badge tone={requestTones[state]} hasDot>
                {names(`states.${state}`)}
              </Badge>
              {due !== 'stopped' && (
                <span className={clsx('text-sm sm:ml-auto', isOverdue ? 'text-red' : 'text-quiet')}>
                  {t.rich(isWaiting ? 'requests.waits' : 'requests.due', {
                    time: () => <Time at={isWaiting ? until : legal} relative />,
                  })}
                </span>
              )}
            </li>
          )
        })}
      </ul>
      {more > 0 && (
        <p>
          <TextLink href="/settings/privacy/requests">{t('requests.more', { count: more })}</TextLink>
        </p>
      )}
    </div>
  )
}
