'use client'

import { useFormatter, useTranslations } from 'next-intl'
import { useApiInfiniteQuery } from '#components/frame/api-query.ts'
import { useRowKeys } from '#components/frame/row-keys.ts'
import { Badge, type BadgeTone } from '#components/ui/badge.tsx'
import { EmptyState } from '#components/ui/empty-state.tsx'
import { DataTable, type ShownColumn } from '#components/ui/table.tsx'
import { Time } from '#components/ui/time.tsx'
import { heartbeatCounts } from '#lib/domains/agents/life/rules.ts'
import { type Heartbeat, type HeartbeatPage, heartbeatsAt, recordsPerPage } from './records.ts'

const tones: Record<Heartbeat['state'], BadgeTone> = {
  idle: 'neutral',
  working: 'progress',
  waiting: 'neutral',
  degraded: 'warning',
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
  const columns: ShownColumn<Heartbeat>[] = [
    { key: 'at', title: t('columns.at'), main: true, value: ({ at }) => at, cell: ({ at }) => <Time at={at} /> },
    {
      key: 'state',
      title: t('columns.state'),
      value: ({ state }) => t(`states.${state}`),
      cell: ({ state }) => (
        <Badge tone={tones[state]} hasDot>
          {t(`states.${state}`)}
        </Badge>
      ),
    },
    ...heartbeatCounts.map(
      (name): ShownColumn<Heartbeat> => ({
        key: name,
        title: t(`counts.${name}`),
        numeric: true,
        isHiddenAtFirst: !list.rows.some(({ counts }) => counts[name] !== undefined),
        value: ({ counts }) => counts[name],
        cell: ({ counts }) => {
          const count = counts[name]
          return count === undefined ? '–' : format.number(count)
        },
      }),
    ),
  ]
  return (
    <DataTable
      name="heartbeats"
      label={t('list')}
      rows={list.rows}
      pages={list}
      rowKey={({ at }) => at}
      cursor={cursor}
      columns={columns}
      empty={
        <EmptyState title={t('none')}>
          <p>{t('noneText')}</p>
        </EmptyState>
      }
    />
  )
}
