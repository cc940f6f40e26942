'use client'

import { useTranslations } from 'next-intl'
import { useApiInfiniteQuery } from '#components/frame/api-query.ts'
import { ListTable } from '#components/frame/list-table.tsx'
import { useSizes } from '#components/projects/sizes.ts'
import { PlainButtonLink } from '#components/ui/button.tsx'
import type { ShownColumn } from '#components/ui/table-column.ts'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import {
  type AgentDocumentPage,
  agentDocumentFile,
  agentDocumentsAt,
  documentPage,
  documentsAtOnce,
  type ListedDocument,
  type ShownDocumentKind,
} from './documents.ts'

function useDocumentColumns(agentId: string): ShownColumn<ListedDocument>[] {
  const t = useTranslations('agentDocuments')
  const size = useSizes()
  return [
    {
      key: 'title',
      title: t('columns.title'),
      main: true,
      minWidth: 'long',
      value: ({ title }) => title,
      cell: ({ id, title }) => (
        <TextLink href={documentPage(agentId, id)}>
          <bdi>{title}</bdi>
        </TextLink>
      ),
    },
    {
      key: 'kind',
      title: t('columns.kind'),
      value: (document) => t(`kinds.${document.kind}`),
    },
    {
      key: 'bytes',
      title: t('columns.bytes'),
      numeric: true,
      value: ({ bytes }) => bytes,
      cell: ({ bytes }) => size(bytes),
    },
    {
      key: 'revision',
      title: t('columns.revision'),
      numeric: true,
      value: ({ revision }) => revision,
    },
    {
      key: 'updated',
      title: t('columns.updated'),
      value: ({ updated_at }) => updated_at,
      cell: ({ updated_at }) => <Time at={updated_at} />,
    },
    {
      key: 'actions',
      title: t('columns.actions'),
      isTitleHidden: true,
      cell: ({ id, title }) => (
        <PlainButtonLink
          tone="plain"
          size="small"
          href={agentDocumentFile(agentId, id)}
          download
          aria-label={t('downloadNamed', { title })}
        >
          {t('download')}
        </PlainButtonLink>
      ),
    },
  ]
}

interface DocumentListProps {
  agentId: string
  initial: AgentDocumentPage
  kind: ShownDocumentKind | undefined
}
/** The private documents of an agent and its owner: theses and playbooks. */
export function AgentDocumentList({ agentId, initial, kind }: DocumentListProps) {
  const t = useTranslations('agentDocuments')
  const list = useApiInfiniteQuery(
    agentDocumentsAt,
    { params: { id: agentId }, query: { ...(kind && { kind }), limit: documentsAtOnce } },
    { initial },
  )
  const columns = useDocumentColumns(agentId)
  return (
    <ListTable
      name="agent-documents"
      label={t('list')}
      list={list}
      columns={columns}
      rowKey={({ id }) => id}
      open={({ id }) => documentPage(agentId, id)}
      none={t(kind === undefined ? 'none' : `noneOf.${kind}`)}
    >
      {t('noneText')}
    </ListTable>
  )
}
