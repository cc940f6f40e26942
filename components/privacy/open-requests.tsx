import { useNow, useTranslations } from 'next-intl'
import { Tag, type TagTone } from '#components/ui/tag.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import type { RequestView } from '#lib/domains/privacy-requests/contract.ts'
import type { DueStatus } from '#lib/domains/privacy-requests/rules.ts'

const tones: Record<DueStatus, TagTone> = {
  ok: 'plain',
  near: 'amber',
  overdue: 'red',
  paused: 'plain',
  stopped: 'plain',
}

/** Open requests: what each is, its state and its due date. */
export function OpenPrivacyRequests({ requests, more }: { requests: readonly RequestView[]; more: number }) {
  const t = useTranslations('myPrivacy')
  const now = useNow()
  return (
    <div className="grid gap-3">
      {requests.length > 0 && (
        <ul className="divide-y divide-line rounded-box border border-line bg-raised">
          {requests.map((request) => {
            const { id, kinds, state, due, agent_id: agent, waiting_until: until, due_at: ours } = request
            const isWaiting = state === 'waiting' && until !== null && Date.parse(until) > now.getTime()
            return (
              <li key={id} className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-3">
                <TextLink href={`/settings/privacy/requests/${id}`} className="font-medium">
                  {kinds.map((kind) => t(`kinds.${kind}`)).join(', ')}
                </TextLink>
                {agent !== null && <span className="text-sm [overflow-wrap:anywhere] text-quiet">{agent}</span>}
                <Tag tone={tones[due]}>{t(`states.${state}`)}</Tag>
                {due !== 'stopped' && (
                  <span className="text-sm text-quiet sm:ml-auto">
                    {t.rich(isWaiting ? 'requests.waits' : 'requests.due', {
                      time: () => <Time at={(isWaiting ? until : ours) ?? request.legal_due_at} relative />,
                    })}
                  </span>
                )}
              </li>
            )
          })}
        </ul>
      )}
      <p className="flex flex-wrap gap-x-6 gap-y-1">
        {more > 0 && <span className="text-quiet">{t('requests.more', { count: more })}</span>}
        <TextLink href="/settings/privacy/requests">{t('requests.all')}</TextLink>
        <TextLink href="/settings/privacy/receipts">{t('requests.receipts')}</TextLink>
      </p>
    </div>
  )
}
