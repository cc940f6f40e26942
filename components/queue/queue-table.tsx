'use client'

import { useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { CauseList } from '#components/erasures/cause-list.tsx'
import type { useApiInfiniteQuery } from '#components/frame/api-query.ts'
import { requestTones } from '#components/requests/request-tones.ts'
import { Badge } from '#components/ui/badge.tsx'
import { EmptyState } from '#components/ui/empty-state.tsx'
import type { Selection } from '#components/ui/selection.ts'
import { DataTable, type ShownColumn } from '#components/ui/table.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import type { listAllRequests } from '#lib/domains/privacy-requests/queue/contract.ts'
import { dueOf } from './due.ts'
import { DueStatusTag } from './due-tag.tsx'
import type { AdminRequest, ListedRequest } from './endpoints.ts'
import { isQueueFiltered, type QueueFilterValues } from './filters.ts'
import { useRequestWords } from './request-words.tsx'

export const requestHref = ({ id }: Pick<AdminRequest, 'id'>): string => `/admin/requests/${id}`

interface QueueTableProps {
  list: ReturnType<typeof useApiInfiniteQuery<typeof listAllRequests>>
  me: string
  cursor: number
  selection: Selection
  filters: QueueFilterValues
  change: (changes: Partial<QueueFilterValues>) => void
  toolbar: ReactNode
  bulk: ReactNode
}

function useColumns(me: string): ShownColumn<ListedRequest>[] {
  const t = useTranslations('queue')
  const words = useRequestWords()
  const assignee = ({ assigned_to, assigned_name }: AdminRequest): string =>
    assigned_to === null
      ? t('assignee.none')
      : assigned_to === me
        ? t('assignee.me')
        : (assigned_name ?? t('formerAdmin'))
  return [
    {
      key: 'subject',
      title: t('columns.subject'),
      main: true,
      minWidth: 'medium',
      value: words.subject,
      cell: (request) => <TextLink href={requestHref(request)}>{words.subject(request)}</TextLink>,
    },
    { key: 'kinds', title: t('columns.kinds'), phone: 'plain', value: words.kinds, cell: words.kinds },
    {
      key: 'state',
      phone: 'beside',
      title: t('columns.state'),
      value: words.state,
      cell: (request) => (
        <div className="grid justify-items-start gap-1">
          <Badge tone={requestTones[request.state]} hasDot>
            {words.state(request)}
          </Badge>
          {request.causes && <CauseList causes={request.causes} />}
        </div>
      ),
    },
    {
      key: 'due',
      phone: 'plain',
      title: t('columns.due'),
      value: (request) => dueOf(request).at,
      cell: (request) => <DueStatusTag request={request} />,
    },
    {
      key: 'assigned',
      phone: 'hidden',
      title: t('columns.assigned'),
      value: assignee,
      cell: (request) => (
        <span className={request.assigned_to === null ? 'text-quiet' : undefined}>{assignee(request)}</span>
      ),
    },
    {
      key: 'channel',
      phone: 'hidden',
      title: t('columns.channel'),
      value: ({ channel }) => t(`channels.${channel}`),
    },
    {
      key: 'received',
      phone: 'hidden',
      title: t('columns.received'),
      value: ({ received_at }) => received_at,
      cell: ({ received_at }) => <Time at={received_at} show="relative" />,
    },
  ]
}

/** The API sorts by the deadline, the earliest first, or by receipt, the newest first. */
export function QueueTable({ list, me, cursor, selection, filters, change, toolbar, bulk }: QueueTableProps) {
  const t = useTranslations('queue')
  const words = useRequestWords()
  return (
    <DataTable
      name="requests"
      label={t('label')}
      columns={useColumns(me)}
      rows={list.rows}
      rowKey={({ id }) => id}
      rowName={words.whole}
      open={requestHref}
      selection={selection}
      cursor={cursor}
      serverSort={{
        order: filters.sort === 'due' ? 'due' : '-received',
        keys: ['due', 'received'],
        onOrder: (order) => change({ sort: order === 'received' ? 'received' : 'due' }),
      }}
      toolbar={toolbar}
      pages={list}
      bulk={bulk}
      empty={
        <EmptyState title={t('empty.title')}>
          <p>{t(isQueueFiltered(filters) ? 'empty.filtered' : 'empty.open')}</p>
        </EmptyState>
      }
    />
  )
}
