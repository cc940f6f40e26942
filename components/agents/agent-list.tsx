'use client'

import { useFormatter, useTranslations } from 'next-intl'
import { useApiInfiniteQuery } from '#components/frame/api-query.ts'
import { countText } from '#components/frame/count-text.ts'
import { useRowKeys } from '#components/frame/row-keys.ts'
import { Empty } from '#components/ui/empty.tsx'
import { MoreButton } from '#components/ui/more-button.tsx'
import { DataTable } from '#components/ui/table.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import { ownAgentsCountedTo } from '#lib/domains/agents/rules.ts'
import { AgentStateTag } from './agent-state.tsx'
import { agentPage, type OwnAgents, ownAgentsAt } from './agents.ts'
import { score } from './names.ts'

export function OwnAgentList({ initial }: { initial: OwnAgents }) {
  const t = useTranslations('agents')
  const common = useTranslations('common')
  const format = useFormatter()
  const agents = useApiInfiniteQuery(ownAgentsAt, { query: { limit: 100 } }, { initial })
  const { cursor } = useRowKeys({ count: agents.rows.length })
  const held = (count: number) => countText(common, count, { limit: ownAgentsCountedTo })
  if (agents.rows.length === 0 && !agents.problem)
    return (
      <Empty title={t('none')}>
        <p>{t('noneText')}</p>
      </Empty>
    )
  return (
    <div className="grid gap-3">
      <DataTable
        label={t('list')}
        rows={agents.rows}
        rowKey={(agent) => agent.agent_id}
        open={(agent) => agentPage(agent.agent_id)}
        cursor={cursor}
        columns={[
          {
            key: 'agent',
            title: t('columns.agent'),
            main: true,
            cell: (agent) => (
              <div className="grid">
                <TextLink href={agentPage(agent.agent_id)}>
                  <bdi>{agent.name ?? agent.agent_id}</bdi>
                </TextLink>
                {agent.name !== null && (
                  <code className="font-mono text-[0.8125rem] font-normal text-quiet">{agent.agent_id}</code>
                )}
              </div>
            ),
          },
          { key: 'state', title: t('columns.state'), cell: (agent) => <AgentStateTag agent={agent} /> },
          { key: 'units', title: t('columns.units'), numeric: true, cell: (agent) => held(agent.holds.units) },
          { key: 'skills', title: t('columns.skills'), numeric: true, cell: (agent) => held(agent.holds.skills) },
          {
            key: 'tokens',
            title: t('columns.tokens'),
            numeric: true,
            cell: (agent) => t('tokensOf', { used: agent.holds.tokens, most: agent.token_limit }),
          },
          {
            key: 'reputation',
            title: t('columns.reputation'),
            numeric: true,
            cell: (agent) => format.number(agent.holds.reputation, score),
          },
          { key: 'since', title: t('columns.since'), cell: (agent) => <Time at={agent.created_at} isDay /> },
        ]}
      />
      <MoreButton pages={agents} />
    </div>
  )
}
