'use client'

import { useFormatter, useTranslations } from 'next-intl'
import { useApiInfiniteQuery } from '#components/frame/api-query.ts'
import { ListTable } from '#components/frame/list-table.tsx'
import { Badge, type BadgeTone } from '#components/ui/badge.tsx'
import type { ShownColumn } from '#components/ui/table-column.ts'
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
    <ListTable
      name="heartbeats"
      label={t('list')}
      list={list}
      columns={columns}
      rowKey={({ at }) => at}
      none={t('none')}
    >
      {t('noneText')}
    </ListTable>
  )
}
