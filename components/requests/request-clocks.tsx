import { useNow, useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { CopyableId } from '#components/ui/copyable-id.tsx'
import { FactList } from '#components/ui/facts.tsx'
import { Card } from '#components/ui/page.tsx'
import { usePunctuation } from '#components/ui/punctuation.ts'
import { Time } from '#components/ui/time.tsx'
import { ourTerm } from '#lib/domains/privacy-requests/rules.ts'
import { ClockRow } from './clock-row.tsx'
import type { OwnRequestDetail } from './requests.ts'

const proofs = ['password', 'link', 'token', 'admin', 'manager'] as const

/** The subject, dates and id of a request. */
export function RequestFacts({ request, agentName }: { request: OwnRequestDetail; agentName: string | undefined }) {
  const t = useTranslations('requests')
  const { close, open } = usePunctuation()
  const { received_at, verified_at, waiting_until, closed_at } = request
  const proof = proofs.find((one) => one === request.verified_by)
  const about = request.for_member
    ? t('about.member')
    : (agentName ?? request.agent_id ?? t(request.subject === 'person' ? 'about.you' : `about.${request.subject}`))
  const facts: [string, ReactNode][] = [
    [t('request.facts.about'), about],
    [t('request.facts.received'), <Time key="received" at={received_at} />],
  ]
  if (verified_at !== null)
    facts.push([
      t('request.facts.confirmed'),
      <span key="verified">
        <Time at={verified_at} />
        {proof && `${open}${t(`request.facts.by.${proof}`)}${close}`}
      </span>,
    ])
  if (waiting_until !== null)
    facts.push([
      t('request.facts.grace'),
      <Time key="grace" at={waiting_until} relative={request.state === 'waiting'} />,
    ])
  if (closed_at !== null) facts.push([t('request.facts.closed'), <Time key="closed" at={closed_at} />])
  facts.push([t('request.facts.id'), <CopyableId key="id" id={request.id} what={t('request.facts.id')} />])
  return (
    <Card>
      <FactList facts={facts} />
    </Card>
  )
}

/** The two deadlines of an open request: ours and the legal one. */
export function RequestDeadlines({ request }: { request: OwnRequestDetail }) {
  const t = useTranslations('requests.request')
  const now = useNow({ updateInterval: 60_000 })
  const { due, due_at, legal_due_at, received_at } = request
  const runs = due !== 'paused' && due !== 'stopped'
  if (due === 'stopped') return null
  return (
    <Card title={t('clocks')}>
      <div className="divide-y divide-line">
        {due_at === null ? (
          <div className="grid gap-1.5 pb-3">
            <p className="font-medium">{t('facts.ours')}</p>
            <p className="text-sm text-quiet">{t('facts.oursNotYet')}</p>
          </div>
        ) : (
          <ClockRow
            name={t('facts.ours')}
            text={t('facts.oursText')}
            from={new Date(Date.parse(due_at) - ourTerm).toISOString()}
            until={due_at}
            now={now}
            runs={runs && Date.parse(due_at) - ourTerm <= now.getTime()}
          />
        )}
        <ClockRow
          name={t('facts.legal')}
          text={t(request.extended ? 'facts.legalExtended' : 'facts.legalText')}
          from={received_at}
          until={legal_due_at}
          now={now}
          runs={runs}
        />
      </div>
    </Card>
  )
}
