'use client'

import { useFormatter, useTranslations } from 'next-intl'
import { useApiInfiniteQuery } from '#components/frame/api-query.ts'
import { countText } from '#components/frame/count-text.ts'
import { parseAsString } from '#components/frame/query-parsers.ts'
import { useQueryStates } from '#components/frame/query-state.ts'
import { useRowKeys } from '#components/frame/row-keys.ts'
import { ButtonLink } from '#components/ui/button.tsx'
import { CopyableId } from '#components/ui/copyable-id.tsx'
import { EmptyState } from '#components/ui/empty-state.tsx'
import { FilterBar } from '#components/ui/filter-bar.tsx'
import { NoMatch } from '#components/ui/no-match.tsx'
import { usePunctuation } from '#components/ui/punctuation.ts'
import { DataTable, type ShownColumn } from '#components/ui/table.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import { ownAgentsCountedTo } from '#lib/domains/agents/rules.ts'
import { AgentStateTag } from './agent-state.tsx'
import { agentPage, type OwnAgentRow, type OwnAgents, ownAgentsAt } from './agents.ts'
import { score } from './names.ts'
import { agentStatuses, agentStatusTags } from './status-rules.ts'

const filterParsers = { q: parseAsString.withDefault(''), status: parseAsString }

/** The person's agents. Search and status filter the loaded rows, so they show only when all rows are loaded. */
export function OwnAgentList({ initial }: { initial: OwnAgents }) {
  const t = useTranslations('agents')
  const agents = useApiInfiniteQuery(ownAgentsAt, { query: { limit: 100 } }, { initial })
  const [{ q, status }, setFilters] = useQueryStates(filterParsers)
  const isComplete = !agents.hasMore
  const isFiltered = isComplete && (q !== '' || status !== null)
  const wanted = q.trim().toLowerCase()
  const rows = isFiltered
    ? agents.rows.filter(
        (agent) =>
          [agent.agent_id, agent.name ?? ''].some((text) => text.toLowerCase().includes(wanted)) &&
          (status === null || agentStatusTags(agent).some((one) => one === status)),
      )
    : agents.rows
  const { cursor } = useRowKeys({ count: rows.length })
  const columns = useAgentColumns()
  const clear = () => void setFilters({ q: null, status: null })
  return (
    <DataTable
      name="agents"
      label={t('list')}
      rows={rows}
      pages={agents}
      rowKey={(agent) => agent.agent_id}
      open={(agent) => agentPage(agent.agent_id)}
      cursor={cursor}
      columns={columns}
      toolbar={
        isComplete &&
        agents.rows.length > 0 && (
          <FilterBar
            search={{ label: t('filters.q'), value: q, onChange: (text) => void setFilters({ q: text || null }) }}
            facets={[
              {
                key: 'status',
                title: t('columns.state'),
                value: status === null ? [] : [status],
                options: agentStatuses.map((value) => ({
                  value,
                  title: t(`states.${value}.name`),
                  count: agents.rows.filter((agent) => agentStatusTags(agent).includes(value)).length,
                })),
                onChange: ([value]) => void setFilters({ status: value ?? null }),
              },
            ]}
            isFiltered={isFiltered}
            onClear={clear}
          />
        )
      }
      empty={
        isFiltered ? (
          <NoMatch title={t('filters.none')} onClear={clear} />
        ) : (
          <EmptyState title={t('none')} action={<ButtonLink href="#create">{t('create.title')}</ButtonLink>}>
            <p>{t('noneText')}</p>
          </EmptyState>
        )
      }
    />
  )
}

function useAgentColumns(): ShownColumn<OwnAgentRow>[] {
  const t = useTranslations('agents')
  const common = useTranslations('common')
  const { list } = usePunctuation()
  const format = useFormatter()
  const held = (count: number) => countText(common, count, { limit: ownAgentsCountedTo })
  return [
    {
      key: 'agent',
      title: t('columns.agent'),
      main: true,
      minWidth: 'long',
      value: ({ name, agent_id }) => name ?? agent_id,
      cell: ({ name, agent_id }) => (
        <TextLink href={agentPage(agent_id)}>
          <bdi>{name ?? agent_id}</bdi>
        </TextLink>
      ),
    },
    {
      key: 'state',
      title: t('columns.state'),
      value: (agent) => list(agentStatusTags(agent).map((one) => t(`states.${one}.name`))),
      cell: (agent) => <AgentStateTag agent={agent} />,
    },
    {
      key: 'units',
      title: t('columns.units'),
      numeric: true,
      value: ({ holds }) => holds.units,
      cell: ({ holds }) => held(holds.units),
    },
    {
      key: 'skills',
      title: t('columns.skills'),
      numeric: true,
      value: ({ holds }) => holds.skills,
      cell: ({ holds }) => held(holds.skills),
    },
    {
      key: 'tokens',
      title: t('columns.tokens'),
      numeric: true,
      value: ({ holds }) => holds.tokens,
      cell: ({ holds, token_limit }) => t('tokensOf', { used: holds.tokens, most: token_limit }),
    },
    {
      key: 'reputation',
      title: t('columns.reputation'),
      numeric: true,
      value: ({ holds }) => holds.reputation,
      cell: ({ holds }) => format.number(holds.reputation, score),
    },
    {
      key: 'since',
      title: t('columns.since'),
      value: ({ created_at }) => created_at,
      cell: ({ created_at }) => <Time at={created_at} isDay />,
    },
    {
      key: 'id',
      title: t('one.id'),
      isHiddenAtFirst: true,
      value: ({ agent_id }) => agent_id,
      cell: ({ agent_id }) => <CopyableId id={agent_id} what={t('id')} />,
    },
  ]
}
