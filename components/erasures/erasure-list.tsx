'use client'

import { useTranslations } from 'next-intl'
import { useEffect } from 'react'
import { useApiInfiniteQuery } from '#components/frame/api-query.ts'
import { useQueryStates } from '#components/frame/query-state.ts'
import { useRowKeys } from '#components/frame/row-keys.ts'
import { EmptyState } from '#components/ui/empty-state.tsx'
import { FilterBar } from '#components/ui/filter-bar.tsx'
import { NoMatch } from '#components/ui/no-match.tsx'
import { Page } from '#components/ui/page.tsx'
import { type StatTile, StatTiles } from '#components/ui/stat-tiles.tsx'
import { DataTable } from '#components/ui/table.tsx'
import { Tabs } from '#components/ui/tabs.tsx'
import { type ErasurePage, erasurePollInterval, erasuresAt } from './endpoints.ts'
import { erasureHref, useErasureColumns } from './erasure-columns.tsx'
import { erasureFilterParsers, erasureQueryOf, erasuresAddress, isLinkedState, listedStates } from './filters.ts'

interface ErasureListProps {
  initial: ErasurePage
  /** The query that `initial` answers. */
  initialQuery: ReturnType<typeof erasureQueryOf>
}
/** Deletions by status and search, newest first. While one is running, rows and counts are polled. */
export function ErasureList({ initial, initialQuery }: ErasureListProps) {
  const t = useTranslations('erasures')
  const [filters, setFilters] = useQueryStates(erasureFilterParsers)
  const { state, q } = filters
  const query = erasureQueryOf(filters)
  const isInitial = JSON.stringify(query) === JSON.stringify(initialQuery)
  const list = useApiInfiniteQuery(erasuresAt, { query }, { initial: isInitial ? initial : undefined })
  const { again, rows } = list
  const { cursor } = useRowKeys({ count: rows.length })
  const open = list.first?.open ?? initial.open
  const running = open.planning + open.erasing + open.verifying
  const goesOn = running > 0
  useEffect(() => {
    if (!goesOn) return
    const timer = setInterval(again, erasurePollInterval * 2)
    return () => clearInterval(timer)
  })
  const tile = (one: 'stuck' | 'held' | 'failed', tone: NonNullable<StatTile['tone']>): StatTile => ({
    label: t(`states.${one}`),
    value: open[one],
    href: erasuresAddress({ state: one }),
    ...(open[one] > 0 && { tone }),
  })
  return (
    <Page width="wide" title={t('name')}>
      <StatTiles
        tiles={[
          { label: t('running'), value: running },
          tile('stuck', 'danger'),
          tile('held', 'warning'),
          tile('failed', 'danger'),
        ]}
      />
      <Tabs
        label={t('columns.state')}
        tabs={[
          { href: erasuresAddress({ q }), title: t('all'), isCurrent: state === null },
          ...listedStates.map((one) => ({
            href: erasuresAddress({ state: one, q }),
            title: t(`states.${one}`),
            isCurrent: one === state,
            ...(one !== 'done' && open[one] > 0 && { count: open[one] }),
          })),
          ...(isLinkedState(state)
            ? [{ href: erasuresAddress({ state, q }), title: t(`states.${state}`), isCurrent: true }]
            : []),
        ]}
      />
      <DataTable
        key={state ?? 'all'}
        name="erasures"
        label={t('name')}
        columns={useErasureColumns()}
        rows={rows}
        rowKey={({ run_id }) => run_id}
        open={erasureHref}
        cursor={cursor}
        toolbar={
          <FilterBar
            search={{ label: t('search'), value: q ?? '', onChange: (text) => setFilters({ q: text || null }) }}
            isFiltered={q !== null}
            onClear={() => setFilters({ q: null })}
          />
        }
        pages={list}
        empty={
          q === null ? (
            <EmptyState title={t(state === null ? 'empty.title' : 'empty.filtered')}>
              {state === null && <p>{t('empty.text')}</p>}
            </EmptyState>
          ) : (
            <NoMatch title={t('empty.filtered')} onClear={() => setFilters({ q: null })}>
              {t('empty.erased')}
            </NoMatch>
          )
        }
      />
    </Page>
  )
}
