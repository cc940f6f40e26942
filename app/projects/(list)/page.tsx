import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { Words } from '#components/frame/words.tsx'
import { CreateForm } from '#components/projects/create-form.tsx'
import { rowsAtOnce, viewNamed, viewQuery, views } from '#components/projects/places.ts'
import { ProjectList } from '#components/projects/project-list.tsx'
import { Page, Section } from '#components/ui/page.tsx'
import { Tabs } from '#components/ui/tabs.tsx'
import { app } from '#lib/app-instance.ts'
import { ask, opened } from '../../reader.ts'

export const generateMetadata = async (): Promise<Metadata> => ({ title: (await getTranslations('projects'))('name') })

interface Props {
  searchParams: Promise<Record<string, string | string[] | undefined>>
}
export default async function ProjectsPage({ searchParams }: Props) {
  const { role } = await opened('projects')
  const asked = (await searchParams).view
  const hasOffice = role === 'manager' || role === 'admin'
  const named = viewNamed(typeof asked === 'string' ? asked : undefined)
  const view = named === 'all' && !hasOffice ? 'mine' : named
  const [t, projects, mine, closing, { data: namespace }] = await Promise.all([
    getTranslations('projects'),
    ask(app.projects.list, { query: { ...viewQuery(view), limit: String(rowsAtOnce) } }),
    ask(app.projects.list, { query: { limit: '1' } }),
    ask(app.projects.list, { query: { status: 'closing', limit: '1' } }),
    ask(app.accounts.namespace),
  ])
  return (
    <Words of={['projects']}>
      <Page
        title={t('title', { count: mine.total })}
        lead={
          <>
            <p>{t('lead')}</p>
            {closing.total > 0 && <p>{t('closingSoon', { count: closing.total })}</p>}
          </>
        }
        width="wide"
      >
        <div className="grid gap-4">
          <Tabs
            label={t('views.label')}
            tabs={views
              .filter((one) => one !== 'all' || hasOffice)
              .map((one) => ({
                href: one === 'mine' ? '/projects' : `/projects?view=${one}`,
                title: one === 'all' ? t(role === 'admin' ? 'views.everybody' : 'views.all') : t(`views.${one}`),
                isCurrent: one === view,
                ...(one === 'closing' && { count: closing.total }),
              }))}
          />
          <ProjectList key={view} initial={projects} view={view} />
        </div>
        {role !== 'auditor' && (
          <Section id="create" title={t('create.title')}>
            <CreateForm
              regions={app.regions.choosable}
              prefixes={namespace.is_any || role === 'admin' ? [] : [namespace.prefix, ...namespace.namespaces]}
            />
          </Section>
        )}
      </Page>
    </Words>
  )
}
