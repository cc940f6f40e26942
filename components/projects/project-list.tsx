'use client'

import { useFormatter, useTranslations } from 'next-intl'
import { useApiInfiniteQuery } from '#components/frame/api-query.ts'
import { useRowKeys } from '#components/frame/row-keys.ts'
import { ButtonLink } from '#components/ui/button.tsx'
import { CopyableId } from '#components/ui/copyable-id.tsx'
import { EmptyState } from '#components/ui/empty-state.tsx'
import { DataTable, type ShownColumn } from '#components/ui/table.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import {
  type Project,
  type ProjectListView,
  type ProjectPage,
  projectPage,
  projectRowsPerPage,
  projectsAt,
  viewQuery,
} from './endpoints.ts'
import { ProjectStatusTag } from './project-status.tsx'

function useProjectColumns(): ShownColumn<Project>[] {
  const t = useTranslations('projects')
  const format = useFormatter()
  const nameOf = ({ name }: Project) => (name === '' ? t('closedName') : name)
  return [
    {
      key: 'project',
      title: t('columns.project'),
      main: true,
      minWidth: 'long',
      value: nameOf,
      cell: (project) => (
        <TextLink href={projectPage(project.id)}>
          <bdi>{nameOf(project)}</bdi>
        </TextLink>
      ),
    },
    {
      key: 'status',
      title: t('columns.status'),
      minWidth: 'medium',
      value: ({ status, is_erasing }) => t(`statuses.${is_erasing ? 'erasing' : status}`),
      cell: (project) => (
        <span className="flex flex-wrap items-baseline gap-x-2">
          <ProjectStatusTag project={project} />
          {project.closes_at !== null && project.status === 'closing' && (
            <span className="text-quiet">
              {t.rich('closesOn', { time: () => <Time key="closes" at={project.closes_at ?? ''} isDay /> })}
            </span>
          )}
        </span>
      ),
    },
    {
      key: 'role',
      title: t('columns.role'),
      value: ({ role }) => t(`roles.${role}`),
    },
    {
      key: 'conversations',
      title: t('columns.conversations'),
      numeric: true,
      value: ({ conversations }) => conversations,
      cell: ({ conversations }) => format.number(conversations),
    },
    {
      key: 'documents',
      title: t('columns.documents'),
      numeric: true,
      value: ({ documents }) => documents,
      cell: ({ documents }) => format.number(documents),
    },
    {
      key: 'members',
      title: t('columns.members'),
      numeric: true,
      value: ({ members }) => members,
      cell: ({ members }) => format.number(members),
    },
    {
      key: 'updated',
      title: t('columns.updated'),
      value: ({ updated_at }) => updated_at,
      cell: ({ updated_at }) => <Time at={updated_at} show="relative" />,
    },
    {
      key: 'id',
      title: t('one.facts.id'),
      isHiddenAtFirst: true,
      value: ({ id }) => id,
      cell: ({ id }) => <CopyableId id={id} what={t('one.facts.id')} />,
    },
  ]
}

interface ProjectListProps {
  initial: ProjectPage
  view: ProjectListView
  mayCreate: boolean
}
/** Projects that the reader may see, newest change first. */
export function ProjectList({ initial, view, mayCreate }: ProjectListProps) {
  const t = useTranslations('projects')
  const projects = useApiInfiniteQuery(
    projectsAt,
    { query: { ...viewQuery(view), limit: projectRowsPerPage } },
    { initial },
  )
  const { cursor } = useRowKeys({ count: projects.rows.length })
  const columns = useProjectColumns()
  return (
    <DataTable
      name="projects"
      label={t('name')}
      rows={projects.rows}
      pages={projects}
      rowKey={({ id }) => id}
      open={({ id }) => projectPage(id)}
      cursor={cursor}
      columns={columns}
      empty={
        view === 'mine' ? (
          <EmptyState
            title={t('none')}
            action={mayCreate && <ButtonLink href="#create">{t('create.title')}</ButtonLink>}
          >
            <p>{t('noneText')}</p>
          </EmptyState>
        ) : (
          <EmptyState title={t('noneOfView')} />
        )
      }
    />
  )
}
