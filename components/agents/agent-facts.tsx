import { useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { CopyableId } from '#components/ui/copyable-id.tsx'
import { FactList } from '#components/ui/facts.tsx'
import { Card } from '#components/ui/page.tsx'
import { usePunctuation } from '#components/ui/punctuation.ts'
import { useRegionTitle } from '#components/ui/region-words.ts'
import { Time } from '#components/ui/time.tsx'
import type { OwnAgentWhole } from './agents.ts'
import { heartbeatsUntil } from './status-rules.ts'

type Fact = readonly [name: string, value: ReactNode]

/** The facts column of an agent. `isAvailable`: everything that this agent needs is in its data region. */
export function AgentFacts({ agent, isAvailable }: { agent: OwnAgentWhole; isAvailable: boolean }) {
  const t = useTranslations('agents')
  const one = useTranslations('agents.one')
  const region = useRegionTitle()(agent.region)
  const snapshots: Fact[] =
    agent.self_hosted || agent.status === 'dead'
      ? []
      : [
          [
            one('snapshots'),
            one(agent.automatic_snapshots ? 'snapshotsMade' : isAvailable ? 'snapshotsNone' : 'snapshotsOutside'),
          ],
        ]
  const facts: Fact[] = [
    ...useStatusFacts(agent),
    [one('id'), <CopyableId key="id" id={agent.agent_id} what={t('id')} />],
    [one('region'), region],
    [one('runs'), one(agent.self_hosted ? 'runsElsewhere' : 'runsHere')],
    ...snapshots,
    [one('tier'), one('tierText', { tier: t(`tiers.${agent.tier}`), most: agent.token_limit })],
    [one('created'), <Time key="created" at={agent.created_at} />],
    [one('firstUsed'), agent.first_used_at ? <Time key="used" at={agent.first_used_at} /> : one('neverUsed')],
  ]
  return (
    <Card title={one('about')}>
      <FactList facts={facts} />
    </Card>
  )
}

/** Since when the agent is paused, retired or restricted, and why. */
function useStatusFacts({
  status,
  status_at: statusAt,
  died_at: diedAt,
  restricted_at: restrictedAt,
  restricted_for: reasons,
}: OwnAgentWhole): Fact[] {
  const t = useTranslations('agents')
  const one = useTranslations('agents.one')
  const { list } = usePunctuation()
  const facts: Fact[] = []
  if (status !== 'active' && statusAt) facts.push([one(`since.${status}`), <Time key="since" at={statusAt} relative />])
  if (diedAt)
    facts.push([one('heartbeatsUntil'), <Time key="until" at={heartbeatsUntil(diedAt).toISOString()} relative />])
  if (restrictedAt)
    facts.push(
      [one('pausedSince'), <Time key="restricted" at={restrictedAt} />],
      [one('why'), list(reasons.map((reason) => t(`reasons.${reason}`)))],
    )
  return facts
}
