import { useFormatter, useTranslations } from 'next-intl'
import { countText } from '#components/frame/count-text.ts'
import { StatTiles } from '#components/ui/stat-tiles.tsx'
import { heartbeatsCountedTo } from '#lib/domains/agents/life/rules.ts'
import { ownAgentsCountedTo } from '#lib/domains/agents/rules.ts'
import type { OwnAgentWhole } from './agents.ts'
import { documentsPage } from './documents.ts'
import { score } from './names.ts'
import { recordsPage } from './records.ts'

interface AgentCountsProps {
  agent: OwnAgentWhole
  documents: number
  heartbeats: number
}

/** The numbers of an agent's records, each with a link to them. */
export function AgentCounts({ agent, documents, heartbeats }: AgentCountsProps) {
  const t = useTranslations('agents')
  const one = useTranslations('agents.one')
  const common = useTranslations('common')
  const format = useFormatter()
  const held = (count: number) => countText(common, count, { limit: ownAgentsCountedTo })
  const query = new URLSearchParams({ agent: agent.agent_id })
  const { holds } = agent
  return (
    <section aria-label={one('holds')}>
      <StatTiles
        tiles={[
          { label: one('units'), value: held(holds.units), href: `/knowledge?${query}` },
          { label: one('skills'), value: held(holds.skills), href: `/knowledge?${query}&kind=skill` },
          { label: one('documents'), value: format.number(documents), href: documentsPage(agent.agent_id) },
          {
            label: one('heartbeats'),
            value: countText(common, heartbeats, { limit: heartbeatsCountedTo }),
            href: recordsPage(agent.agent_id, 'heartbeats'),
          },
          {
            label: one('tokens'),
            value: t('tokensOf', { used: holds.tokens, most: agent.token_limit }),
            href: `/tokens?${query}`,
          },
          { label: one('reputation'), value: format.number(holds.reputation, score) },
        ]}
      />
    </section>
  )
}
