'use client'

import { useTranslations } from 'next-intl'
import { DataTable, type ShownColumn } from '#components/ui/table.tsx'
import { Tag } from '#components/ui/tag.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import { DueStatusTag } from './due-tag.tsx'
import type { AdminRequest } from './endpoints.ts'
import { useRequestWords } from './request-words.tsx'

export const requestHref = ({ id }: Pick<AdminRequest, 'id'>): string => `/admin/requests/${id}`

interface QueueTableProps {
  rows: readonly AdminRequest[]
  me: string
  cursor: number
  chosen: ReadonlySet<string>
  toggle: (id: string) => void
  toggleAll: () => void
}

export function QueueTable({ rows, me, cursor, chosen, toggle, toggleAll }: QueueTableProps) {
  const t = useTranslations('queue')
  const words = useRequestWords()
  const columns: ShownColumn<AdminRequest>[] = [
    { key: 'due', title: t('columns.due'), cell: (request) => <DueStatusTag request={request} /> },
    {
      key: 'subject',
      title: t('columns.subject'),
      main: true,
      cell: (request) => (
        <TextLink href={requestHref(request)} tone="ink">
          {words.subject(request)}
        </TextLink>
      ),
    },
    { key: 'kinds', title: t('columns.kinds'), cell: words.kinds },
    {
      key: 'state',
      title: t('columns.state'),
      cell: (request) => (
        <Tag tone={request.state === 'failed' ? 'red' : request.state === 'received' ? 'plain' : 'accent'}>
          {words.state(request)}
        </Tag>
      ),
    },
    { key: 'channel', title: t('columns.channel'), cell: ({ channel }) => t(`channels.${channel}`) },
    {
      key: 'assigned',
      title: t('columns.assigned'),
      cell: ({ assigned_to, assigned_name }) =>
        assigned_to === null ? (
          <span className="text-quiet">{t('nobody')}</span>
        ) : assigned_to === me ? (
          t('assignee.me')
        ) : (
          (assigned_name ?? t('erasedSubject'))
        ),
    },
    { key: 'received', title: t('columns.received'), cell: ({ received_at }) => <Time at={received_at} /> },
  ]
  return (
    <DataTable
      label={t('label')}
      columns={columns}
      rows={rows}
      rowKey={({ id }) => id}
      rowName={words.whole}
      open={requestHref}
      selection={{ chosen, toggle, toggleAll }}
      cursor={cursor}
    />
  )
}
