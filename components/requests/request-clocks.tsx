import { useNow, useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { FactList } from '#components/ui/facts.tsx'
import { ShortId } from '#components/ui/short-id.tsx'
import { Time } from '#components/ui/time.tsx'
import { ourTerm } from '#lib/domains/privacy-requests/rules.ts'
import { ClockRow } from './clock-row.tsx'
import type { OwnRequestDetail } from './requests.ts'

const proofs = ['password', 'link', 'token', 'admin', 'manager'] as const

/** The receipt of a request and its two limits: ours and the legal one. */
export function RequestClocks({ request }: { request: OwnRequestDetail }) {
  const t = useTranslations('requests')
  const now = useNow({ updateInterval: 60_000 })
  const { due_at, legal_due_at, received_at, verified_at, waiting_until } = request
  const runs = request.due !== 'paused' && request.due !== 'stopped'
  const proof = proofs.find((one) => one === request.verified_by)
  const about = request.for_member
    ? t('about.member')
    : (request.agent_id ?? t(request.subject === 'person' ? 'about.you' : `about.${request.subject}`))
  const facts: [string, ReactNode][] = [
    [t('request.facts.about'), about],
    [t('request.facts.received'), <Time key="received" at={received_at} />],
    ...(verified_at === null
      ? []
      : ([
          [
            t('request.facts.confirmed'),
            <span key="verified">
              <Time at={verified_at} />
              {proof && <>, {t(`request.facts.by.${proof}`)}</>}
            </span>,
          ],
        ] satisfies [string, ReactNode][])),
    ...(waiting_until === null
      ? []
      : ([
          [t('request.facts.grace'), <Time key="grace" at={waiting_until} relative={request.state === 'waiting'} />],
        ] satisfies [string, ReactNode][])),
    ...(request.closed_at === null
      ? []
      : ([[t('request.facts.closed'), <Time key="closed" at={request.closed_at} />]] satisfies [string, ReactNode][])),
    [t('request.facts.id'), <ShortId key="id" id={request.id} what={t('request.facts.id')} />],
  ]
  return (
    <div className="grid gap-4">
      <FactList facts={facts} />
      {request.due !== 'stopped' && (
        <div className="divide-y divide-line border-y border-line">
          {due_at === null ? (
            <div className="grid gap-1.5 py-3">
              <p className="font-medium">{t('request.facts.ours')}</p>
              <p className="text-sm text-quiet">{t('request.facts.oursNotYet')}</p>
            </div>
          ) : (
            <ClockRow
              name={t('request.facts.ours')}
              text={t('request.facts.oursText')}
              from={new Date(Date.parse(due_at) - ourTerm).toISOString()}
              until={due_at}
              now={now}
              runs={runs && Date.parse(due_at) - ourTerm <= now.getTime()}
            />
          )}
          <ClockRow
            name={t('request.facts.legal')}
            text={t(request.extended ? 'request.facts.legalExtended' : 'request.facts.legalText')}
            from={received_at}
            until={legal_due_at}
            now={now}
            runs={runs}
          />
        </div>
      )}
    </div>
  )
}
