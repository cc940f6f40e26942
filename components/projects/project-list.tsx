'use client'

import { useFormatter, useTranslations } from 'next-intl'
import { useApiInfiniteQuery } from '#components/frame/api-query.ts'
import { useRowKeys } from '#components/frame/row-keys.ts'
import { Empty } from '#components/ui/empty.tsx'
import { MoreButton } from '#components/ui/more-button.tsx'
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

export function ProjectList({ initial, view }: { initial: ProjectPage; view: ProjectListView }) {
  const t = useTranslations('projects')
  const format = useFormatter()
  const projects = useApiInfiniteQuery(
    projectsAt,
    { query: { ...viewQuery(view), limit: projectRowsPerPage } },
    { initial },
  )
  const { cursor } = useRowKeys({ count: projects.rows.length })
  if (projects.rows.length === 0 && !projects.problem)
    return <Empty title={t(view === 'mine' ? 'none' : 'noneOfView')}>{view === 'mine' && <p>{t('noneText')}</p>}</Empty>
  const columns: ShownColumn<Project>[] = [
    {
      key: 'project',
      title: t('columns.project'),
      main: true,
      cell: ({ id, name }) => (
        <div className="grid">
          <TextLink href={projectPage(id)}>
            <bdi>{name === '' ? t('closedName') : name}</bdi>
          </TextLink>
          <code className="font-mono text-[0.8125rem] font-normal text-quiet">{id}</code>
        </div>
      ),
    },
    {
      key: 'status',
      title: t('columns.status'),
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
    { key: 'role', title: t('columns.role'), cell: ({ role }) => t(`roles.${role}`) },
    {
      key: 'conversations',
      title: t('columns.conversations'),
      numeric: true,
      cell: ({ conversations }) => format.number(conversations),
    },
    {
      key: 'documents',
      title: t('columns.documents'),
      numeric: true,
      cell: ({ documents }) => format.number(documents),
    },
    { key: 'members', title: t('columns.members'), numeric: true, cell: ({ members }) => format.number(members) },
    { key: 'updated', title: t('columns.updated'), cell: ({ updated_at }) => <Time at={updated_at} isDay /> },
  ]
  return (
    <div className="grid gap-3">
      <DataTable
        label={t('list')}
        rows={projects.rows}
        rowKey={({ id }) => id}
        open={({ id }) => projectPage(id)}
        cursor={cursor}
        columns={columns}
      />
      <MoreButton pages={projects} />
    </div>
  )
}
