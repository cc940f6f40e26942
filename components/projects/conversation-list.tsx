'use client'

import { useFormatter, useTranslations } from 'next-intl'
import { useApiInfiniteQuery } from '#components/frame/api-query.ts'
import { useRowKeys } from '#components/frame/row-keys.ts'
import { EmptyState } from '#components/ui/empty-state.tsx'
import { DataTable, type ShownColumn } from '#components/ui/table.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import { ConversationRegion } from './conversation-region.tsx'
import {
  type Conversation,
  type ConversationPage,
  conversationPage,
  conversationsAt,
  type Project,
  projectRowsPerPage,
} from './endpoints.ts'

interface ConversationListProps {
  project: Project
  initial: ConversationPage
}
export function ConversationList({ project, initial }: ConversationListProps) {
  const projectId = project.id
  const t = useTranslations('projects.conversations')
  const format = useFormatter()
  const list = useApiInfiniteQuery(
    conversationsAt,
    { params: { projectId }, query: { limit: projectRowsPerPage } },
    { initial },
  )
  const { cursor } = useRowKeys({ count: list.rows.length })
  const hasRegions = project.region !== null || list.rows.some(({ region }) => region !== null)
  const columns: ShownColumn<Conversation>[] = [
    {
      key: 'title',
      title: t('columns.title'),
      main: true,
      minWidth: 'long',
      value: ({ title }) => title,
      cell: ({ id, title }) => (
        <TextLink href={conversationPage(projectId, id)}>
          <bdi>{title}</bdi>
        </TextLink>
      ),
    },
    {
      key: 'messages',
      title: t('columns.messages'),
      numeric: true,
      value: ({ messages }) => messages,
      cell: ({ messages }) => format.number(messages),
    },
    {
      key: 'threads',
      title: t('columns.threads'),
      numeric: true,
      value: ({ threads }) => threads.length,
      cell: ({ threads }) => format.number(threads.length),
    },
    ...(hasRegions
      ? [
          {
            key: 'region',
            title: t('columns.region'),
            cell: (row: Conversation) => <ConversationRegion conversation={row} project={project} />,
          },
        ]
      : []),
    {
      key: 'created',
      title: t('columns.created'),
      value: ({ created_at }) => created_at,
      cell: ({ created_at }) => <Time at={created_at} isDay />,
    },
    {
      key: 'updated',
      title: t('columns.updated'),
      value: ({ updated_at }) => updated_at,
      cell: ({ updated_at }) => <Time at={updated_at} show="relative" />,
    },
  ]
  return (
    <DataTable
      name="conversations"
      label={t('list')}
      rows={list.rows}
      pages={list}
      rowKey={({ id }) => id}
      open={({ id }) => conversationPage(projectId, id)}
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
