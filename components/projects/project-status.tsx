import { useTranslations } from 'next-intl'
import { Tag } from '#components/ui/tag.tsx'
import type { Project } from './endpoints.ts'

export function ProjectStatusTag({ project }: { project: Pick<Project, 'status' | 'is_erasing'> }) {
  const t = useTranslations('projects.statuses')
  if (project.is_erasing) return <Tag tone="red">{t('erasing')}</Tag>
  const tone = { active: 'accent', closing: 'amber', closed: 'plain' } as const
  return <Tag tone={tone[project.status]}>{t(project.status)}</Tag>
}
