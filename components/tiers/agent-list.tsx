'use client'

import { useTranslations } from 'next-intl'
import { useApiInfiniteQuery } from '#components/frame/api-query.ts'
import { useQueryStates } from '#components/frame/query-state.ts'
import { useRowKeys } from '#components/frame/row-keys.ts'
import { EmptyState } from '#components/ui/empty-state.tsx'
import { FilterBar } from '#components/ui/filter-bar.tsx'
import { NoMatch } from '#components/ui/no-match.tsx'
import { DataTable } from '#components/ui/table.tsx'
import { tiers } from '#lib/domains/tokens/rules.ts'
import { addressOfAgent } from './agent-address.ts'
import { useAgentColumns } from './agent-columns.tsx'
import { type AllAgentsPage, allAgentsAt } from './endpoints.ts'
import { type AgentTierFilters, tierFilterParsers, tierQueryOf } from './filters.ts'

/** All agents with limits and use; `initialFilters` are those for which the server rendered `initial`. */
export function AgentTierList({
  initial,
  initialFilters,
}: {
  initial: AllAgentsPage
  initialFilters: AgentTierFilters
}) {
  const t = useTranslations('tiers')
  const [filters, setFilters] = useQueryStates(tierFilterParsers)
  const query = tierQueryOf(filters)
  const isInitial = JSON.stringify(query) === JSON.stringify(tierQueryOf(initialFilters))
  const list = useApiInfiniteQuery(allAgentsAt, { query }, { initial: isInitial ? initial : undefined })
  const columns = useAgentColumns()
  const { cursor } = useRowKeys({ count: list.rows.length })
  const isFiltered = query.q !== undefined || query.tier !== undefined
  const clear = () => void setFilters({ q: null, tier: null })
  return (
    <DataTable
      name="agents"
      label={t('agents.title')}
      columns={columns}
      rows={list.rows}
      rowKey={({ agent_id }) => agent_id}
      open={({ agent_id }) => addressOfAgent(agent_id)}
      cursor={cursor}
      pages={list}
      toolbar={
        <FilterBar
          search={{ label: t('agents.search'), value: filters.q, onChange: (q) => void setFilters({ q: q || null }) }}
          facets={[
            {
              key: 'tier',
              title: t('agents.tier'),
              options: tiers.map((tier) => ({ value: tier, title: t(`tiers.${tier}`) })),
              value: filters.tier ? [filters.tier] : [],
              onChange: ([value]) => void setFilters({ tier: tiers.find((tier) => tier === value) ?? null }),
            },
          ]}
          isFiltered={isFiltered}
          onClear={clear}
        />
      }
      empty={
        isFiltered ? (
          <NoMatch title={t('agents.noMatch')} onClear={clear}>
            {t('agents.noMatchHint')}
          </NoMatch>
        ) : (
          <EmptyState title={t('agents.noneTitle')}>
            <p>{t('agents.none')}</p>
          </EmptyState>
        )
      }
    />
  )
}
