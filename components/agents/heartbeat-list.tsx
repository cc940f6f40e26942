'use client'

import { useFormatter, useTranslations } from 'next-intl'
import { useApiInfiniteQuery } from '#components/frame/api-query.ts'
import { useRowKeys } from '#components/frame/row-keys.ts'
import { Empty } from '#components/ui/empty.tsx'
import { MoreButton } from '#components/ui/more-button.tsx'
import { DataTable, type ShownColumn } from '#components/ui/table.tsx'
import { Tag, type TagTone } from '#components/ui/tag.tsx'
import { Time } from '#components/ui/time.tsx'
import { heartbeatCounts } from '#lib/domains/agents/life/rules.ts'
import { type Heartbeat, type HeartbeatPage, heartbeatsAt, recordsPerPage } from './records.ts'

const tones: Record<Heartbeat['state'], TagTone> = {
  idle: 'plain',
  working: 'accent',
  waiting: 'plain',
  degraded: 'amber',
}

/** Heartbeats of an agent, newest first. */
export function HeartbeatList({ agentId, initial }: { agentId: string; initial: HeartbeatPage }) {
  const t = useTranslations('agentRecords.heartbeats')
  const format = useFormatter()
  const list = useApiInfiniteQuery(
    heartbeatsAt,
    { params: { id: agentId }, query: { limit: recordsPerPage } },
    { initial },
  )
  const { cursor } = useRowKeys({ count: list.rows.length, onOpen: null })
  if (list.rows.length === 0 && !list.problem)
    return (
      <Empty title={t('none')}>
        <p>{t('noneText')}</p>
      </Empty>
    )
  const columns: ShownColumn<Heartbeat>[] = [
    { key: 'at', title: t('columns.at'), main: true, cell: ({ at }) => <Time at={at} /> },
    {
      key: 'state',
      title: t('columns.state'),
      cell: ({ state }) => <Tag tone={tones[state]}>{t(`states.${state}`)}</Tag>,
    },
    {
      key: 'counts',
      title: t('columns.counts'),
      cell: ({ counts }) => (
        <span className="flex flex-wrap gap-x-3">
          {heartbeatCounts.map((name) => {
            const count = counts[name]
            return count === undefined ? null : (
              <span key={name} className="whitespace-nowrap tabular-nums">
                <span className="text-quiet">{t(`counts.${name}`)}</span> {format.number(count)}
              </span>
            )
          })}
        </span>
      ),
    },
  ]
  return (
    <div className="grid gap-3">
      <DataTable label={t('list')} rows={list.rows} rowKey={({ at }) => at} cursor={cursor} columns={columns} />
      <MoreButton pages={list} />
    </div>
  )
}
