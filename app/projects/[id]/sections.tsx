import { getTranslations } from 'next-intl/server'
import { callUseCase } from '#app/page-access.ts'
import { addressesToConfirmPage } from '#components/participants/addresses-page.ts'
import { participantQuery } from '#components/participants/endpoints.ts'
import { ParticipantList } from '#components/participants/participant-list.tsx'
import { BeginForm } from '#components/projects/begin-form.tsx'
import { ConversationList } from '#components/projects/conversation-list.tsx'
import { ProjectDocumentList } from '#components/projects/document-list.tsx'
import {
  mayActForParticipants,
  mayConfirmAddresses,
  type Project,
  projectPage,
  projectRowsPerPage,
} from '#components/projects/endpoints.ts'
import { MemberForm } from '#components/projects/member-form.tsx'
import { ProjectMemberList } from '#components/projects/member-list.tsx'
import { UploadForm } from '#components/projects/upload-form.tsx'
import { Alert } from '#components/ui/alert.tsx'
import { Section } from '#components/ui/page.tsx'
import { Tabs } from '#components/ui/tabs.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { app } from '#lib/app-instance.ts'
import type { AccountView } from '#lib/domains/accounts/contract.ts'
import type { Role } from '#lib/domains/accounts/rules.ts'
import { fileTypes, max, projectDocumentKinds } from '#lib/domains/projects/rules.ts'
import { isStorable } from '#lib/kernel/data-regions.ts'

const limit = String(projectRowsPerPage)

export async function Conversations({ project, role }: { project: Project; role: Role }) {
  const projectId = project.id
  const [t, initial] = await Promise.all([
    getTranslations('projects.conversations'),
    callUseCase(app.projects.conversations, { params: { projectId }, query: { limit } }),
  ])
  return (
    <>
      <ConversationList project={project} initial={initial} />
      {role !== 'auditor' && isStorable(app.regions, project.region) && (
        <Section id="begin" title={t('new')}>
          <BeginForm project={project} regions={app.regions.choosable} />
        </Section>
      )}
    </>
  )
}

interface DocumentsProps {
  project: Project
  role: Role
  /** From the query string, not validated. */
  kind: string | string[] | undefined
}
export async function Documents({ project, role, kind: asked }: DocumentsProps) {
  const projectId = project.id
  const kind = projectDocumentKinds.find((one) => one === asked)
  const [t, initial] = await Promise.all([
    getTranslations('projects.documents'),
    callUseCase(app.projects.documents, { params: { projectId }, query: { limit, ...(kind && { kind }) } }),
  ])
  const address = projectPage(projectId, 'documents')
  return (
    <>
      <div className="grid gap-4">
        <Tabs
          label={t('views.label')}
          tabs={[undefined, ...projectDocumentKinds].map((one) => ({
            href: one === undefined ? address : `${address}&kind=${one}`,
            title: t(`views.${one ?? 'all'}`),
            isCurrent: one === kind,
          }))}
        />
        <ProjectDocumentList
          key={kind ?? 'all'}
          projectId={projectId}
          initial={initial}
          kind={kind}
          isOwner={project.role === 'owner'}
        />
      </div>
      {role !== 'auditor' && isStorable(app.regions, project.region) && (
        <Section id="upload" title={t('upload.title')}>
          <UploadForm projectId={projectId} most={max.document} types={fileTypes} />
        </Section>
      )}
    </>
  )
}

interface ParticipantsProps {
  project: Project
  person: AccountView
  /** The search text in the address. */
  q: string | string[] | undefined
  /** The filter in the address. */
  unconfirmed: string | string[] | undefined
}
export async function ParticipantsSection({ project, person, q, unconfirmed }: ParticipantsProps) {
  const projectId = project.id
  const asked = typeof q === 'string' ? q : ''
  const isUnconfirmed = unconfirmed === 'true'
  const participants = (query: ReturnType<typeof participantQuery>) =>
    callUseCase(app.projects.participants, { params: { projectId }, query })
  const mayConfirm = mayConfirmAddresses(project, person)
  const [t, initial, waiting] = await Promise.all([
    getTranslations('participants.address'),
    participants(participantQuery(asked, isUnconfirmed)),
    mayConfirm && !isUnconfirmed ? participants({ ...participantQuery('', true), limit: '1' }) : undefined,
  ])
  return (
    <>
      {waiting !== undefined && waiting.total > 0 && (
        <Alert tone="warning" title={t('waiting', { count: waiting.total })}>
          <p>
            <TextLink href={addressesToConfirmPage(projectId)}>{t('show')}</TextLink>
          </p>
        </Alert>
      )}
      <ParticipantList
        projectId={projectId}
        initial={initial}
        asked={asked}
        isUnconfirmed={isUnconfirmed}
        mayFile={mayActForParticipants(project, person)}
      />
    </>
  )
}

export async function MembersSection({ project, me }: { project: Project; me: string }) {
  const projectId = project.id
  const [t, initial] = await Promise.all([
    getTranslations('projects.members'),
    callUseCase(app.projects.members, { params: { projectId }, query: { limit } }),
  ])
  const isOwner = project.role === 'owner'
  return (
    <>
      <ProjectMemberList projectId={projectId} initial={initial} isOwner={isOwner} me={me} />
      {isOwner && (
        <Section id="add" title={t('add.title')}>
          <MemberForm projectId={projectId} />
        </Section>
      )}
    </>
  )
}
