'use client'

import { useTranslations } from 'next-intl'
import { useEffect } from 'react'
import { useApiInfiniteQuery } from '#components/frame/api-query.ts'
import { useRowKeys } from '#components/frame/row-keys.ts'
import { Empty } from '#components/ui/empty.tsx'
import { MoreButton } from '#components/ui/more-button.tsx'
import { Page } from '#components/ui/page.tsx'
import { ProgressBar } from '#components/ui/progress.tsx'
import { ShortId } from '#components/ui/short-id.tsx'
import { DataTable, type ShownColumn } from '#components/ui/table.tsx'
import { Tabs } from '#components/ui/tabs.tsx'
import { Tag } from '#components/ui/tag.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import type { listErasures } from '#lib/domains/privacy-requests/erasures/contract.ts'
import {
  type Erasure,
  type ErasurePage,
  erasurePollInterval,
  erasuresAt,
  runStates,
  type ShownRunState,
} from './endpoints.ts'

const tones = {
  planning: 'accent',
  erasing: 'accent',
  verifying: 'accent',
  held: 'amber',
  done: 'plain',
  failed: 'red',
} as const
const erasureHref = ({ run_id }: Erasure): string => `/admin/erasures/${run_id}`

function Records({ erasure: { planned, erased } }: { erasure: Erasure }) {
  const t = useTranslations('erasures')
  if (planned === 0) return <span className="text-quiet">{t('notYet')}</span>
  return (
    <div className="grid min-w-24 gap-1">
      <span className="tabular-nums">{t('records', { erased, planned })}</span>
      <ProgressBar value={erased} max={planned} label={t('recordsOf', { erased, planned })} />
    </div>
  )
}

interface ErasureListProps {
  initial: ErasurePage
  state: ShownRunState | undefined
}
/** Erasures by state, newest first. While one is running, rows and counts are polled. */
export function ErasureList({ initial, state }: ErasureListProps) {
  const t = useTranslations('erasures')
  const list = useApiInfiniteQuery(erasuresAt, { query: { ...(state && { state }), limit: '50' } }, { initial })
  const { again } = list
  const open = list.first?.open ?? initial.open
  const running = open.planning + open.erasing + open.verifying
  const goesOn = running > 0
  useEffect(() => {
    if (!goesOn) return
    const timer = setInterval(again, erasurePollInterval * 2)
    return () => clearInterval(timer)
  })
  return (
    <Page
      width="wide"
      title={t('title', { running, stuck: open.stuck })}
      lead={<p>{t('lead', { held: open.held, failed: open.failed })}</p>}
    >
      <Tabs
        label={t('views.label')}
        tabs={[
          { href: '/admin/erasures', title: t('views.all'), isCurrent: state === undefined },
          ...runStates.map((one) => ({
            href: `/admin/erasures?state=${one}`,
            title: t(`states.${one}`),
            isCurrent: one === state,
            ...(one !== 'done' && { count: open[one] }),
          })),
        ]}
      />
      <Erasures key={state ?? 'all'} list={list} />
    </Page>
  )
}

function Erasures({ list }: { list: ReturnType<typeof useApiInfiniteQuery<typeof listErasures>> }) {
  const t = useTranslations('erasures')
  const { rows } = list
  const { cursor } = useRowKeys({ count: rows.length })
  const columns: ShownColumn<Erasure>[] = [
    {
      key: 'run',
      title: t('columns.run'),
      main: true,
      cell: (erasure) => (
        <span className="flex flex-wrap items-center gap-x-2">
          <TextLink href={erasureHref(erasure)}>
            <Time at={erasure.created_at} />
          </TextLink>
          <ShortId id={erasure.run_id} what={t('columns.run')} />
        </span>
      ),
    },
    {
      key: 'state',
      title: t('columns.state'),
      cell: (erasure) => (
        <span className="flex flex-wrap gap-1">
          <Tag tone={tones[erasure.state]}>{t(`states.${erasure.state}`)}</Tag>
          {erasure.stuck > 0 && <Tag tone="red">{t('stuck', { count: erasure.stuck })}</Tag>}
        </span>
      ),
    },
    { key: 'progress', title: t('columns.progress'), cell: (erasure) => <Records erasure={erasure} /> },
    {
      key: 'steps',
      title: t('columns.steps'),
      numeric: true,
      cell: ({ steps_done, steps_total }) => t('steps', { done: steps_done, total: steps_total }),
    },
    {
      key: 'finished',
      title: t('columns.finished'),
      cell: ({ finished_at }) =>
        finished_at === null ? <span className="text-quiet">{t('notYet')}</span> : <Time at={finished_at} />,
    },
    {
      key: 'receipt',
      title: t('columns.receipt'),
      cell: ({ receipt_id }) =>
        receipt_id === null ? (
          <span className="text-quiet">{t('notYet')}</span>
        ) : (
          <TextLink href={`/receipts/${receipt_id}`}>{t('receipt')}</TextLink>
        ),
    },
  ]
  if (rows.length === 0 && !list.problem)
    return (
      <Empty title={t('empty.title')}>
        <p>{t('empty.text')}</p>
      </Empty>
    )
  return (
    <div className="grid gap-3">
      <DataTable
        label={t('label')}
        columns={columns}
        rows={rows}
        rowKey={({ run_id }) => run_id}
        open={erasureHref}
        cursor={cursor}
      />
      <MoreButton pages={list} />
    </div>
  )
}
