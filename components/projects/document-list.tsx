'use client'

import { useTranslations } from 'next-intl'
import { useApiInfiniteQuery } from '#components/frame/api-query.ts'
import { ListTable } from '#components/frame/list-table.tsx'
import { ButtonLink, PlainButtonLink } from '#components/ui/button.tsx'
import type { ShownColumn } from '#components/ui/table-column.ts'
import { Time } from '#components/ui/time.tsx'
import {
  erasePage,
  type ProjectDocument,
  type ProjectDocumentPage,
  projectDocumentFile,
  projectDocumentsAt,
  projectRowsPerPage,
} from './endpoints.ts'
import { useSizes } from './sizes.ts'
import { WriterName } from './writer-name.tsx'

function useDocumentColumns(projectId: string, isOwner: boolean): ShownColumn<ProjectDocument>[] {
  const t = useTranslations('projects.documents')
  const size = useSizes()
  return [
    {
      key: 'name',
      title: t('columns.name'),
      main: true,
      minWidth: 'long',
      value: ({ name }) => name,
      cell: ({ name, media_type }) => (
        <>
          <bdi>{name}</bdi>
          <span className="block font-normal text-quiet">{media_type}</span>
        </>
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
      key: 'by',
      title: t('columns.by'),
      value: ({ author }) => author.name,
      cell: ({ author }) => <WriterName writer={author} />,
    },
    {
      key: 'created',
      title: t('columns.created'),
      value: ({ created_at }) => created_at,
      cell: ({ created_at }) => <Time at={created_at} isDay />,
    },
    {
      key: 'actions',
      title: t('columns.actions'),
      isTitleHidden: true,
      cell: ({ id, name, is_mine }) => (
        <span className="flex flex-wrap gap-2">
          <PlainButtonLink
            tone="plain"
            size="small"
            href={projectDocumentFile(projectId, id)}
            download
            aria-label={t('downloadNamed', { name })}
          >
            {t('download')}
          </PlainButtonLink>
          {(is_mine || isOwner) && (
            <ButtonLink
              tone="plain"
              size="small"
              href={erasePage(projectId, { kind: 'document', id })}
              prefetch={false}
              aria-label={t('eraseNamed', { name })}
            >
              {t('erase')}
            </ButtonLink>
          )}
        </span>
      ),
    },
  ]
}

interface DocumentListProps {
  projectId: string
  initial: ProjectDocumentPage
  kind: ProjectDocument['kind'] | undefined
  isOwner: boolean
}
export function ProjectDocumentList({ projectId, initial, kind, isOwner }: DocumentListProps) {
  const t = useTranslations('projects.documents')
  const list = useApiInfiniteQuery(
    projectDocumentsAt,
    { params: { projectId }, query: { ...(kind && { kind }), limit: projectRowsPerPage } },
    { initial },
  )
  const columns = useDocumentColumns(projectId, isOwner)
  return (
    <ListTable
      name="project-documents"
      label={t('list')}
      list={list}
      columns={columns}
      rowKey={({ id }) => id}
      none={t('none')}
    >
      {t('noneText')}
    </ListTable>
  )
}
