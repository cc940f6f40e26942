import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { Messages } from '#components/frame/words.tsx'
import { CreateProjectForm } from '#components/projects/create-form.tsx'
import { projectListViews, projectRowsPerPage, viewNamed, viewQuery } from '#components/projects/endpoints.ts'
import { ProjectList } from '#components/projects/project-list.tsx'
import { ButtonLink } from '#components/ui/button.tsx'
import { Page, Section } from '#components/ui/page.tsx'
import { Tabs } from '#components/ui/tabs.tsx'
import { app } from '#lib/app-instance.ts'

export const generateMetadata = async (): Promise<Metadata> => ({ title: (await getTranslations('projects'))('name') })

interface Props {
  searchParams: Promise<Record<string, string | string[] | undefined>>
}
export default async function ProjectsPage({ searchParams }: Props) {
  const { role } = await requirePageAccess('projects')
  const asked = (await searchParams).view
  const mayCreate = role !== 'auditor'
  const hasOffice = role === 'manager' || role === 'admin'
  const named = viewNamed(typeof asked === 'string' ? asked : undefined)
  const view = named === 'all' && !hasOffice ? 'mine' : named
  const [t, projects, closing, { data: namespace }] = await Promise.all([
    getTranslations('projects'),
    callUseCase(app.projects.list, { query: { ...viewQuery(view), limit: String(projectRowsPerPage) } }),
    callUseCase(app.projects.list, { query: { status: 'closing', limit: '1' } }),
    callUseCase(app.accounts.namespace),
  ])
  return (
    <Messages of={['projects']}>
      <Page
        title={t('name')}
        width="wide"
        actions={mayCreate && <ButtonLink href="#create">{t('create.title')}</ButtonLink>}
        tabs={
          <Tabs
            label={t('views.label')}
            tabs={projectListViews
              .filter((one) => one !== 'all' || hasOffice)
              .map((one) => ({
                href: one === 'mine' ? '/projects' : `/projects?view=${one}`,
                title: one === 'all' ? t(role === 'admin' ? 'views.everybody' : 'views.all') : t(`views.${one}`),
                isCurrent: one === view,
                ...(one === 'closing' && { count: closing.total }),
              }))}
          />
        }
      >
        <ProjectList key={view} initial={projects} view={view} mayCreate={mayCreate} />
        {mayCreate && (
          <Section id="create" title={t('create.title')} lead={t('create.lead')}>
            <CreateProjectForm
              regions={app.regions.choosable}
              prefixes={namespace.is_any || role === 'admin' ? [] : [namespace.prefix, ...namespace.namespaces]}
            />
          </Section>
        )}
      </Page>
    </Messages>
  )
}
