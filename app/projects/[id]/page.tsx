import type { Metadata } from 'next'
import { useTranslations } from 'next-intl'
import { getTranslations } from 'next-intl/server'
import { requirePageAccess } from '#app/page-access.ts'
import { Messages } from '#components/frame/words.tsx'
import { ClosingAlert } from '#components/projects/closing-panel.tsx'
import { exportFile, isMember, type Project, projectPage, tabNamed, tabs } from '#components/projects/endpoints.ts'
import { OutsideAlert } from '#components/projects/outside-alert.tsx'
import { ProjectStatusTag } from '#components/projects/project-status.tsx'
import { PlainButtonLink } from '#components/ui/button.tsx'
import { CopyableId } from '#components/ui/copyable-id.tsx'
import { FactList } from '#components/ui/facts.tsx'
import { Page } from '#components/ui/page.tsx'
import { Tabs } from '#components/ui/tabs.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import { app } from '#lib/app-instance.ts'
import { isStorable } from '#lib/kernel/data-regions.ts'
import { projectNamed } from './named.ts'
import { Conversations, Documents, MembersSection, ParticipantsSection } from './sections.tsx'
import { Settings } from './settings.tsx'

export const generateMetadata = async (): Promise<Metadata> => ({
  title: (await getTranslations('projects.one'))('name'),
})

interface Props {
  params: Promise<{ id: string }>
  searchParams: Promise<Record<string, string | string[] | undefined>>
}
export default async function ProjectPage({ params, searchParams }: Props) {
  const person = await requirePageAccess('project')
  const project = await projectNamed((await params).id)
  const query = await searchParams
  const t = await getTranslations('projects.one')
  if (project.status === 'closed' || project.is_erasing) return <ClosedProject project={project} />
  const reads = isMember(project)
  // Managers of the organization and admins act for participants and close the project. They read no content.
  const shown = tabs.filter((tab) => reads || tab === 'participants' || tab === 'settings')
  const named = tabNamed(typeof query.tab === 'string' ? query.tab : undefined)
  const tab = named && shown.includes(named) ? named : reads ? 'conversations' : 'settings'
  const { conversations, documents, participants, members } = project
  const counts = { conversations, documents, participants, members }
  return (
    <Messages of={['projects', 'participants']}>
      <Page
        width="wide"
        title={<bdi>{project.name}</bdi>}
        breadcrumbs={[{ href: '/projects', title: t('back') }]}
        status={<ProjectStatusTag project={project} />}
        actions={
          reads && (
            <PlainButtonLink tone="plain" href={exportFile(project.id)} download>
              {t('closing.export')}
            </PlainButtonLink>
          )
        }
        tabs={
          <Tabs
            label={t('sections')}
            tabs={shown.map((one) => ({
              href: projectPage(project.id, one),
              title: t(`tabs.${one}`),
              isCurrent: one === tab,
              ...(one !== 'settings' && { count: counts[one] }),
            }))}
          />
        }
      >
        <ClosingAlert project={project} exportHref={reads ? exportFile(project.id) : undefined} />
        {!isStorable(app.regions, project.region) && <OutsideAlert of="project" />}
        {tab === 'conversations' && <Conversations project={project} role={person.role} />}
        {tab === 'documents' && <Documents project={project} role={person.role} kind={query.kind} />}
        {tab === 'participants' && (
          <ParticipantsSection project={project} person={person} q={query.q} unconfirmed={query.unconfirmed} />
        )}
        {tab === 'members' && <MembersSection project={project} me={person.account_id} />}
        {tab === 'settings' && <Settings project={project} />}
      </Page>
    </Messages>
  )
}

/** A project whose data is being deleted, or was deleted and has a receipt. */
function ClosedProject({ project }: { project: Project }) {
  const t = useTranslations('projects.one')
  const names = useTranslations('projects')
  const isClosed = project.status === 'closed'
  return (
    <Messages of={['projects']}>
      <Page
        title={isClosed ? names('closedName') : <bdi>{project.name}</bdi>}
        breadcrumbs={[{ href: '/projects', title: t('back') }]}
        status={<ProjectStatusTag project={project} />}
      >
        <p>{t(isClosed ? 'closedFacts.what' : 'erasingText')}</p>
        <FactList
          facts={[
            [t('facts.id'), <CopyableId key="id" id={project.id} what={t('facts.id')} />],
            ...(project.closed_at === null
              ? []
              : ([[t('closedFacts.closed'), <Time key="closed" at={project.closed_at} />]] as const)),
            [
              t('closedFacts.receipt'),
              project.receipt_id === null ? (
                t('closedFacts.none')
              ) : (
                <TextLink key="receipt" href={`/receipts/${project.receipt_id}`} prefetch={false}>
                  {t('closedFacts.open')}
                </TextLink>
              ),
            ],
          ]}
        />
      </Page>
    </Messages>
  )
}
