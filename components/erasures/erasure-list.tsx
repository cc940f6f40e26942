'use client'

import { useTranslations } from 'next-intl'
import { useEffect } from 'react'
import { useApiInfiniteQuery } from '#components/frame/api-query.ts'
import { useRowKeys } from '#components/frame/row-keys.ts'
import { EmptyState } from '#components/ui/empty-state.tsx'
import { Page } from '#components/ui/page.tsx'
import { type StatTile, StatTiles } from '#components/ui/stat-tiles.tsx'
import { DataTable } from '#components/ui/table.tsx'
import { Tabs } from '#components/ui/tabs.tsx'
import { type ErasurePage, erasurePollInterval, erasuresAt, runStates, type ShownRunState } from './endpoints.ts'
import { erasureHref, useErasureColumns } from './erasure-columns.tsx'

interface ErasureListProps {
  initial: ErasurePage
  state: ShownRunState | undefined
}
/** Deletions by status, newest first. While one is running, rows and counts are polled. */
export function ErasureList({ initial, state }: ErasureListProps) {
  const t = useTranslations('erasures')
  const list = useApiInfiniteQuery(erasuresAt, { query: { ...(state && { state }), limit: '50' } }, { initial })
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
  const tile = (label: string, value: number, tone: NonNullable<StatTile['tone']>): StatTile => ({
    label,
    value,
    ...(value > 0 && { tone }),
  })
  return (
    <Page
      width="wide"
      title={t('name')}
      summary={
        <StatTiles
          tiles={[
            tile(t('stats.running'), running, 'neutral'),
            tile(t('stats.stuck'), open.stuck, 'danger'),
            tile(t('states.held'), open.held, 'warning'),
            tile(t('states.failed'), open.failed, 'danger'),
          ]}
        />
      }
    >
      <Tabs
        label={t('columns.state')}
        tabs={[
          { href: '/admin/erasures', title: t('all'), isCurrent: state === undefined },
          ...runStates.map((one) => ({
            href: `/admin/erasures?state=${one}`,
            title: t(`states.${one}`),
            isCurrent: one === state,
            ...(one !== 'done' && open[one] > 0 && { count: open[one] }),
          })),
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
        pages={list}
        empty={
          <EmptyState title={t('empty.title')}>
            <p>{t('empty.text')}</p>
          </EmptyState>
        }
      />
    </Page>
  )
}
