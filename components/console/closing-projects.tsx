import { useTranslations } from 'next-intl'
import { projectPage } from '#components/projects/endpoints.ts'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import type { Overview } from './overview.ts'

/** The reader's projects that are about to be erased, each with a link to the page to reopen or export it. */
export function ClosingProjects({ closing }: { closing: Overview['closing'] }) {
  const t = useTranslations('overview.closing')
  return (
    <div className="grid gap-3">
      <ul className="divide-y divide-line border-y border-line">
        {closing.map(({ project_id, name, closes_at }) => (
          <li key={project_id} className="flex flex-wrap items-baseline gap-x-4 py-2.5">
            <TextLink href={projectPage(project_id)} className="grow">
              <bdi>{name}</bdi>
            </TextLink>
            <span className="text-sm text-quiet">
              {t.rich('goes', { time: () => <Time key="goes" at={closes_at} relative /> })}
            </span>
          </li>
        ))}
      </ul>
      <p>
        <TextLink href="/projects?view=closing">{t('all')}</TextLink>
      </p>
    </div>
  )
}
