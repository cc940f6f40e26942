'use client'

import { useFormatter, useTranslations } from 'next-intl'
import { useApiInfiniteQuery } from '#components/frame/api-query.ts'
import { Bars } from '#components/ui/chart.tsx'
import { Empty } from '#components/ui/empty.tsx'
import { MoreButton } from '#components/ui/more-button.tsx'
import { ShortId } from '#components/ui/short-id.tsx'
import { DataTable, type ShownColumn } from '#components/ui/table.tsx'
import { Tag } from '#components/ui/tag.tsx'
import { Time } from '#components/ui/time.tsx'
import { retainedVisibilities } from '#lib/domains/retention/rules.ts'
import { type ListedSweep, type SweepPage, sweepsAt } from './endpoints.ts'

const tones = { running: 'accent', finished: 'plain', interrupted: 'amber' } as const

function useColumns(): ShownColumn<ListedSweep>[] {
  const t = useTranslations('retention')
  const format = useFormatter()
  return [
    { key: 'when', title: t('history.when'), main: true, cell: ({ started_at }) => <Time at={started_at} relative /> },
    {
      key: 'by',
      title: t('history.by'),
      cell: ({ trigger, requested_by }) => (
        <>
          {t(`history.triggers.${trigger}`)}
          {trigger === 'demand' && (
            <span className="block">
              <ShortId id={requested_by} what={t('history.by')} />
            </span>
          )}
        </>
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
      title: t('history.state'),
      cell: ({ state }) => <Tag tone={tones[state]}>{t(`history.states.${state}`)}</Tag>,
    },
  ]
}

/** The records that past sweeps deleted, as a table and a bar chart. */
export function SweepHistory({ initial }: { initial: SweepPage }) {
  const t = useTranslations('retention')
  const format = useFormatter()
  const columns = useColumns()
  const list = useApiInfiniteQuery(sweepsAt, { query: { limit: '24' } }, { initial })
  if (list.rows.length === 0)
    return (
      <Empty title={t('history.noneTitle')}>
        <p>{t('history.none')}</p>
      </Empty>
    )
  return (
    <div className="grid gap-5">
      <Bars
        label={t('history.chart')}
        data={list.rows.toReversed().map(({ started_at, deleted: { network, org, private: own } }) => ({
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
      <DataTable label={t('history.title')} columns={columns} rows={list.rows} rowKey={({ id }) => id} />
      <MoreButton pages={list} />
    </div>
  )
}
