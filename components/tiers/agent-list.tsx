'use client'

import { useFormatter, useTranslations } from 'next-intl'
import { useQueryStates } from 'nuqs'
import { useCallback } from 'react'
import { useApiInfiniteQuery } from '#components/frame/api-query.ts'
import { useRowKeys } from '#components/frame/row-keys.ts'
import { useTyped } from '#components/frame/typed.ts'
import { Button } from '#components/ui/button.tsx'
import { Sparkline } from '#components/ui/chart.tsx'
import { Empty } from '#components/ui/empty.tsx'
import { Field, Select } from '#components/ui/field.tsx'
import { MoreButton } from '#components/ui/more-button.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { Skeleton } from '#components/ui/skeleton.tsx'
import { DataTable, type ShownColumn } from '#components/ui/table.tsx'
import { Tag } from '#components/ui/tag.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { type TierName, tiers } from '#lib/domains/tokens/tier-rules.ts'
import { type AllAgentsPage, allAgentsAt } from './endpoints.ts'
import { type AgentTierFilters, tierFilterParsers, tierQueryOf } from './filters.ts'

type Agent = AllAgentsPage['data'][number]
const addressOf = ({ agent_id }: Agent) => `/admin/tokens/${encodeURIComponent(agent_id)}`

/** The combined hourly limit of the agent's active tokens. */
const hourly = ({ limits, active_tokens }: Agent) =>
  (limits.reads_per_minute + limits.writes_per_minute) * 60 * Math.max(1, active_tokens)

function useColumns(): ShownColumn<Agent>[] {
  const t = useTranslations('tiers')
  const format = useFormatter()
  const requests = ({ reads, writes, refused }: Agent['use']['last_7d']) => (
    <>
      {format.number(reads + writes)}
      {refused > 0 && <span className="block text-red">{t('agents.refused', { count: refused })}</span>}
    </>
  )
  return [
    {
      key: 'agent',
      title: t('agents.agent'),
      main: true,
      cell: (agent) => (
        <>
          <TextLink href={addressOf(agent)}>{agent.agent_id}</TextLink>
          {agent.name !== null && <span className="block font-normal text-quiet">{agent.name}</span>}
          {agent.restricted_at !== null && <Tag tone="amber">{t('agents.restricted')}</Tag>}{' '}
          {agent.suspended_at !== null && <Tag tone="amber">{t('agents.suspended')}</Tag>}
        </>
      ),
    },
    {
      key: 'limits',
      title: t('agents.limits'),
      cell: ({ tier, limits, custom_limits }) => (
        <>
          <Tag tone={tier === 'enterprise' ? 'accent' : 'plain'}>{t(`tiers.${tier}`)}</Tag>{' '}
          {custom_limits && <Tag>{t('agents.custom')}</Tag>}
          <span className="block text-quiet">
            {t('agents.perMinute', { reads: limits.reads_per_minute, writes: limits.writes_per_minute })}
          </span>
        </>
      ),
    },
    {
      key: 'organisation',
      title: t('agents.organisation'),
      cell: ({ agent_id, organisation, owner_claimed }) => (
        <>
          {organisation.name === agent_id ? t('agents.alone') : organisation.name}
          <span className="block text-quiet">{t(owner_claimed ? 'agents.claimed' : 'agents.unclaimed')}</span>
        </>
      ),
    },
    { key: 'tokens', title: t('agents.tokens'), numeric: true, cell: ({ active_tokens }) => active_tokens },
    {
      key: 'day',
      title: t('agents.day'),
      numeric: true,
      cell: (agent) => (
        <span className="grid gap-0.5 sm:justify-items-end">
          <Sparkline
            values={agent.use.hours}
            limit={hourly(agent)}
            label={t('agents.spark', { most: Math.max(...agent.use.hours), limit: hourly(agent) })}
          />
          <span>{requests(agent.use.last_24h)}</span>
        </span>
      ),
    },
    { key: 'week', title: t('agents.week'), numeric: true, cell: ({ use }) => requests(use.last_7d) },
  ]
}

/** All agents with limits and use; `asked` are the filters for which the server rendered `initial`. */
export function AgentTierList({
  initial,
  initialFilters,
}: {
  initial: AllAgentsPage
  initialFilters: AgentTierFilters
}) {
  const t = useTranslations('tiers')
  const [filters, setFilters] = useQueryStates(tierFilterParsers)
  const pass = useCallback((q: string) => void setFilters({ q: q || null }), [setFilters])
  const { typed, setTyped } = useTyped(filters.q, pass)
  const query = tierQueryOf(filters)
  const isInitial = JSON.stringify(query) === JSON.stringify(tierQueryOf(initialFilters))
  const list = useApiInfiniteQuery(allAgentsAt, { query }, { initial: isInitial ? initial : undefined })
  const columns = useColumns()
  const { cursor } = useRowKeys({ count: list.rows.length })
  const isFiltered = query.q !== undefined || query.tier !== undefined
  const clear = () => void setFilters({ q: null, tier: null })
  return (
    <div className="grid gap-4">
      <search className="grid gap-3 sm:grid-cols-[1fr_14rem]">
        <Field
          data-filter=""
          type="search"
          label={t('agents.search')}
          maxLength={64}
          autoComplete="off"
          spellCheck={false}
          value={typed}
          onChange={({ target }) => setTyped(target.value)}
        />
        <Select
          label={t('agents.tier')}
          value={filters.tier ?? ''}
          onChange={({ target }) =>
            void setFilters({ tier: tiers.find((tier: TierName) => tier === target.value) ?? null })
          }
          options={[
            { value: '', title: t('agents.anyTier') },
            ...tiers.map((tier) => ({ value: tier, title: t(`tiers.${tier}`) })),
          ]}
        />
      </search>
      {list.problem && list.rows.length === 0 && <ProblemAlert problem={list.problem} />}
      {list.isLoading && <Skeleton className="h-40" />}
      {!list.isLoading && !list.problem && list.rows.length === 0 && (
        <Empty
          title={t(isFiltered ? 'agents.noMatchTitle' : 'agents.noneTitle')}
          action={
            isFiltered && (
              <Button tone="plain" size="small" onClick={clear}>
                {t('agents.clear')}
              </Button>
            )
          }
        >
          <p>{t(isFiltered ? 'agents.noMatch' : 'agents.none')}</p>
        </Empty>
      )}
      {list.rows.length > 0 && (
        <>
          <DataTable
            label={t('agents.title')}
            columns={columns}
            rows={list.rows}
            rowKey={({ agent_id }) => agent_id}
            open={addressOf}
            cursor={cursor}
          />
          <MoreButton pages={list} />
        </>
      )}
    </div>
  )
}
