import { useTranslations } from 'next-intl'
import { Badge } from '#components/ui/badge.tsx'
import type { Project } from './endpoints.ts'

export function ProjectStatusTag({ project }: { project: Pick<Project, 'status' | 'is_erasing'> }) {
  const t = useTranslations('projects.statuses')
  if (project.is_erasing)
    return (
      <Badge tone="progress" hasDot>
        {t('erasing')}
      </Badge>
    )
  const tone = { active: 'progress', closing: 'warning', closed: 'neutral' } as const
  return (
    <Badge tone={tone[project.status]} hasDot>
      {t(project.status)}
    </Badge>
  )
}
