'use client'

import { useFormatter, useTranslations } from 'next-intl'
import { useApiInfiniteQuery } from '#components/frame/api-query.ts'
import { Badge } from '#components/ui/badge.tsx'
import { Bars } from '#components/ui/chart.tsx'
import { EmptyState } from '#components/ui/empty-state.tsx'
import { DataTable, type ShownColumn } from '#components/ui/table.tsx'
import { Time } from '#components/ui/time.tsx'
import { retainedVisibilities } from '#lib/domains/retention/rules.ts'
import { type AdminNames, nameIn } from './admin-names.ts'
import { type ListedSweep, type SweepPage, sweepsAt } from './endpoints.ts'

const tones = { running: 'progress', finished: 'success', interrupted: 'warning' } as const

function useColumns(names: AdminNames): ShownColumn<ListedSweep>[] {
  const t = useTranslations('retention')
  const format = useFormatter()
  return [
    {
      key: 'when',
      title: t('history.when'),
      main: true,
      cell: ({ started_at }) => <Time at={started_at} show="relative" />,
    },
    {
      key: 'by',
      title: t('history.by'),
      cell: ({ trigger, requested_by }) => (
        <>{trigger === 'demand' ? nameIn(names, requested_by) : t(`history.triggers.${trigger}`)}</>
      ),
    },
    {
      key: 'removed',
      title: t('history.removed'),
      numeric: true,
      cell: ({ deleted }) => (
        <>
          {format.number(deleted.total)}
          <span className="block text-quiet">
            {retainedVisibilities
              .filter((visibility) => deleted[visibility] > 0)
              .map((visibility) => t(`history.parts.${visibility}`, { count: deleted[visibility] }))
              .join(' · ')}
          </span>
        </>
      ),
    },
    { key: 'held', title: t('history.held'), numeric: true, cell: ({ held }) => format.number(held) },
    {
      key: 'took',
      phone: 'hidden',
      title: t('history.took'),
      numeric: true,
      cell: ({ started_at, finished_at }) =>
        finished_at === null ? (
          '–'
        ) : (
          <span className="whitespace-nowrap">
            {t('history.seconds', { seconds: Math.round((Date.parse(finished_at) - Date.parse(started_at)) / 1_000) })}
          </span>
        ),
    },
    {
      key: 'state',
      phone: 'beside',
      title: t('history.state'),
      cell: ({ state }) => (
        <Badge tone={tones[state]} hasDot>
          {t(`history.states.${state}`)}
        </Badge>
      ),
    },
  ]
}

/** The records that past sweeps deleted, as a table and a bar chart. */
export function SweepHistory({ initial, names }: { initial: SweepPage; names: AdminNames }) {
  const t = useTranslations('retention')
  const columns = useColumns(names)
  const list = useApiInfiniteQuery(sweepsAt, { query: { limit: '8' } }, { initial })
  if (list.rows.length === 0)
    return (
      <EmptyState title={t('history.noneTitle')}>
        <p>{t('history.none')}</p>
      </EmptyState>
    )
  return (
    <div className="grid gap-5">
      {list.rows.every(({ deleted }) => deleted.total === 0) ? (
        <p className="text-quiet">{t('history.quiet', { count: list.rows.length })}</p>
      ) : (
        <SweepChart sweeps={list.rows} />
      )}
      <DataTable label={t('history.title')} columns={columns} rows={list.rows} rowKey={({ id }) => id} pages={list} />
    </div>
  )
}

/** The records that each sweep deleted, oldest first. */
function SweepChart({ sweeps }: { sweeps: readonly ListedSweep[] }) {
  const t = useTranslations('retention')
  const format = useFormatter()
  return (
    <Bars
      label={t('history.chart')}
      unit={t('history.unit')}
      data={sweeps.toReversed().map(({ started_at, deleted: { network, org, private: own } }) => ({
        label: format.dateTime(new Date(started_at), {
          day: 'numeric',
          month: 'short',
          hour: '2-digit',
          minute: '2-digit',
          hourCycle: 'h23',
        }),
        values: { network, org, private: own },
      }))}
      series={[
        { key: 'private', title: t('visibility.private'), tone: 'accent' },
        { key: 'org', title: t('visibility.org'), tone: 'quiet' },
        { key: 'network', title: t('visibility.network'), tone: 'amber' },
      ]}
    />
  )
}
