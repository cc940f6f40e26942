import { useTranslations } from 'next-intl'
import { TimeLeft } from '#components/requests/time-left.tsx'
import { legalSecondsLeft } from '#components/requests/time-left-rules.ts'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import { requestKinds, states } from '#lib/domains/privacy-requests/rules.ts'
import type { Overview } from './overview.ts'

type Row = Overview['requests']['shown'][number]

function RequestLine({ row, agentNames }: { row: Row; agentNames: Readonly<Record<string, string>> }) {
  const t = useTranslations('overview.requests')
  const names = useTranslations('requestNames')
  const asked = row.kinds
    .flatMap((name) => requestKinds.filter((kind) => kind === name))
    .map((kind) => names(`kinds.${kind}`))
  const state = states.find((one) => one === row.state)
  const isWaiting = row.state === 'waiting' && row.waiting_until !== null
  const at = isWaiting ? row.waiting_until : row.legal_due_at
  return (
    <li className="grid gap-1 py-2.5">
      <p className="flex flex-wrap items-baseline gap-x-4 gap-y-1">
        <TextLink href={`/settings/privacy/requests/${row.id}`} className="grow font-medium">
          {asked.join(', ')}
        </TextLink>
        <TimeLeft due={row.due} seconds_left={legalSecondsLeft(row)} />
      </p>
      <p className="text-sm text-quiet">
        {row.agent_id !== null && (
          <>
            <bdi>{agentNames[row.agent_id] ?? row.agent_id}</bdi> ·{' '}
          </>
        )}
        {state && names(`states.${state}`)}
        {row.due !== 'stopped' && at !== null && (
          <> · {t.rich(isWaiting ? 'waiting' : 'limit', { time: () => <Time key="at" at={at} relative /> })}</>
        )}
      </p>
    </li>
  )
}

interface OpenRequestsCardProps {
  requests: Overview['requests']
  /** Names of the reader's agents by id. */
  agentNames: Readonly<Record<string, string>>
}
/** Open requests, most urgent first, each with its remaining time. */
export function OpenRequestsCard({ requests: { shown }, agentNames }: OpenRequestsCardProps) {
  const t = useTranslations('overview.requests')
  return (
    <>
      <ul className="divide-y divide-line border-y border-line">
        {shown.map((row) => (
          <RequestLine key={row.id} row={row} agentNames={agentNames} />
        ))}
      </ul>
      <p>
        <TextLink href="/settings/privacy/requests">{t('more')}</TextLink>
      </p>
    </>
  )
}
