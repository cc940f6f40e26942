'use client'

import { useTimeZone, useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApiInfiniteQuery } from '#components/frame/api-query.ts'
import { countText } from '#components/frame/count-text.ts'
import { useQueryStates } from '#components/frame/query-state.ts'
import { useRowKeys } from '#components/frame/row-keys.ts'
import { Badge } from '#components/ui/badge.tsx'
import { BulkBar } from '#components/ui/bulk-bar.tsx'
import { Button, ButtonLink } from '#components/ui/button.tsx'
import { EmptyState } from '#components/ui/empty-state.tsx'
import { NoMatch } from '#components/ui/no-match.tsx'
import { DataTable, type ShownColumn } from '#components/ui/table.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import { BulkErasure } from './bulk-erasure.tsx'
import { KnowledgeFilterBar } from './filter-bar.tsx'
import {
  isNarrowed,
  type KnowledgeFilters,
  knowledgeFilterParsers,
  knowledgeQueryOf,
  noKnowledgeFilters,
} from './filters.ts'
import { type ListedRecord, percent, type RecordPage, recordPage, recordsAt } from './knowledge.ts'
import { SearchSnippet } from './snippet.tsx'

/** The most results of a ranked search. */
const maxRanked = 300

interface RecordListProps {
  initial: RecordPage
  /** The filters for which the server rendered `initial`. */
  initialFilters: KnowledgeFilters
  agents: readonly { id: string; name: string | null }[]
}

/** Units or skills, with search, filters and selection for erasure. */
export function RecordList({ initial, initialFilters, agents }: RecordListProps) {
  const t = useTranslations('knowledge')
  const common = useTranslations('common')
  const zone = useTimeZone() ?? 'UTC'
  const [filters, setFilters] = useQueryStates(knowledgeFilterParsers)
  const query = knowledgeQueryOf(filters, zone)
  const asking = JSON.stringify(query)
  const list = useApiInfiniteQuery(
    recordsAt,
    { query },
    { initial: asking === JSON.stringify(knowledgeQueryOf(initialFilters, zone)) ? initial : undefined },
  )
  const [chosen, setChosen] = useState<{ asking: string; ids: ReadonlySet<string> }>({ asking, ids: new Set() })
  const [isErasing, setErasing] = useState(false)
  // A selection applies only to the query in which it was made.
  const ids = chosen.asking === asking ? chosen.ids : new Set<string>()
  const choose = (next: ReadonlySet<string>) => setChosen({ asking, ids: next })
  const { cursor } = useRowKeys({ count: list.rows.length })
  const isSkills = filters.kind === 'skill'
  const isMine = filters.show === 'mine'
  const total = list.total ?? 0
  const nameOf = (id: string) => agents.find((agent) => agent.id === id)?.name ?? id
  const corrected = list.first?.corrected ?? []
  const columns = useRecordColumns({ isSkills, nameOf })

  const toggle = (id: string) => {
    const next = new Set(ids)
    if (!next.delete(id)) next.add(id)
    choose(next)
  }
  return (
    <div className="grid gap-4">
      {isNarrowed(filters) && !list.isLoading && !list.problem && (
        <p role="status" className="text-quiet">
          {t('list.result', { total, shown: countText(common, total, { isFirst: true }) })}
          {corrected.map(({ from, to }) => ` ${t('list.corrected', { from, to })}`)}
        </p>
      )}
      <DataTable
        name={isSkills ? 'knowledge-skills' : 'knowledge-units'}
        label={t(isSkills ? 'list.skills' : 'list.units')}
        rows={list.rows}
        pages={list}
        rowKey={(row) => row.id}
        rowName={(row) => row.title || row.id}
        open={(row) => recordPage(row.id)}
        cursor={cursor}
        {...(isMine && {
          selection: {
            chosen: ids,
            toggle,
            toggleAll: () =>
              choose(list.rows.every(({ id }) => ids.has(id)) ? new Set() : new Set(list.rows.map(({ id }) => id))),
          },
        })}
        columns={columns}
        toolbar={<KnowledgeFilterBar filters={filters} set={(changes) => void setFilters(changes)} agents={agents} />}
        empty={
          <Nothing
            filters={filters}
            clear={() => void setFilters(noKnowledgeFilters)}
            showAll={() => void setFilters({ show: 'all' })}
          />
        }
        bulk={
          <BulkBar count={ids.size} onClear={() => choose(new Set())}>
            <Button tone="danger" size="small" onClick={() => setErasing(true)}>
              {t('bulk.erase')}
            </Button>
          </BulkBar>
        }
      />
      {query.q !== undefined && list.rows.length >= maxRanked && !list.hasMore && (
        <p className="text-sm text-quiet">{t('list.rankedEnd')}</p>
      )}
      {isErasing && (
        <BulkErasure
          records={list.rows.filter(({ id }) => ids.has(id))}
          onClose={() => {
            setErasing(false)
            choose(new Set())
          }}
          onCancel={() => setErasing(false)}
        />
      )}
    </div>
  )
}

function useRecordColumns({
  isSkills,
  nameOf,
}: {
  isSkills: boolean
  nameOf: (agentId: string) => string
}): ShownColumn<ListedRecord>[] {
  const t = useTranslations('knowledge')
  const visibilityOf = ({ visibility, is_own }: ListedRecord) =>
    t(`visibility.${visibility}.${is_own ? 'short' : 'ofOther'}`)
  return [
    {
      key: 'title',
      title: t('list.title'),
      main: true,
      minWidth: 'long',
      value: ({ title }) => title,
      cell: (row) => <TitleCell row={row} />,
    },
    ...(isSkills
      ? []
      : [
          {
            key: 'kind',
            title: t('list.kind'),
            value: ({ kind }: ListedRecord) => t(`kinds.${kind}`),
            cell: ({ kind }: ListedRecord) => <span className="whitespace-nowrap">{t(`kinds.${kind}`)}</span>,
          },
        ]),
    {
      key: 'visibility',
      title: t('list.visibility'),
      value: visibilityOf,
      cell: (row) => <span className="whitespace-nowrap">{visibilityOf(row)}</span>,
    },
    {
      key: 'quality',
      title: t('list.quality'),
      numeric: true,
      value: (row) => percent(row.quality_score),
      cell: (row) => `${percent(row.quality_score)}%`,
    },
    {
      key: 'agent',
      title: t('list.agent'),
      minWidth: 'medium',
      value: (row) => nameOf(row.agent_id),
      cell: (row) => <bdi>{nameOf(row.agent_id)}</bdi>,
    },
    {
      key: 'stored',
      title: t('list.stored'),
      value: (row) => row.created_at,
      cell: (row) => <Time at={row.created_at} isDay />,
    },
    {
      key: 'expires',
      title: t('list.expires'),
      value: (row) => row.expires_at,
      cell: (row) => (row.expires_at ? <Time at={row.expires_at} isDay /> : t('list.never')),
    },
  ]
}

function TitleCell({ row }: { row: ListedRecord }) {
  const t = useTranslations('knowledge.list')
  const under = row.snippet ? <SearchSnippet snippet={row.snippet} /> : row.summary ? <bdi>{row.summary}</bdi> : null
  return (
    <div className="grid gap-0.5">
      <TextLink href={recordPage(row.id)} className="line-clamp-2">
        <bdi>{row.title || t('untitled')}</bdi>
      </TextLink>
      {under && <span className="line-clamp-2 font-normal text-quiet">{under}</span>}
      {row.quarantined_at && (
        <span>
          <Badge tone="warning">{t('held')}</Badge>
        </span>
      )}
    </div>
  )
}

interface NothingProps {
  filters: KnowledgeFilters
  clear: () => void
  /** Shows records of other agents, too. */
  showAll: () => void
}
function Nothing({ filters, clear, showAll }: NothingProps) {
  const t = useTranslations('knowledge')
  if (isNarrowed(filters) || filters.show === 'all')
    return (
      <NoMatch title={t('empty.nothing')} onClear={clear}>
        {t('empty.nothingText')}
      </NoMatch>
    )
  const isSkills = filters.kind === 'skill'
  return (
    <EmptyState
      title={t(isSkills ? 'empty.skillsTitle' : 'empty.title')}
      action={
        <>
          <Button tone="main" onClick={showAll}>
            {t('empty.all')}
          </Button>
          <ButtonLink tone="plain" href="/agents">
            {t('empty.agents')}
          </ButtonLink>
        </>
      }
    >
      <p>{t(isSkills ? 'empty.skillsText' : 'empty.text')}</p>
    </EmptyState>
  )
}
