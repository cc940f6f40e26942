import type { Metadata } from 'next'
import { notFound } from 'next/navigation'
import { getFormatter, getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { Messages } from '#components/frame/words.tsx'
import { ConfirmAddress } from '#components/participants/confirm-address.tsx'
import { isUnconfirmed, type Participant } from '#components/participants/endpoints.ts'
import { ParticipantFilingForm } from '#components/participants/filing-form.tsx'
import { LiftButton } from '#components/participants/lift-button.tsx'
import { ParticipantTags } from '#components/participants/participant-tags.tsx'
import { ParticipantRequestList } from '#components/participants/request-list.tsx'
import { mayActForParticipants, mayConfirmAddresses, projectPage } from '#components/projects/endpoints.ts'
import { Alert } from '#components/ui/alert.tsx'
import { CopyableId } from '#components/ui/copyable-id.tsx'
import { FactList } from '#components/ui/facts.tsx'
import { Card, Page, Section } from '#components/ui/page.tsx'
import { Time } from '#components/ui/time.tsx'
import { app } from '#lib/app-instance.ts'
import type { AccountView } from '#lib/domains/accounts/contract.ts'
import { orNotFound, projectNamed } from '../../named.ts'

export const generateMetadata = async (): Promise<Metadata> => ({
  title: (await getTranslations('participants'))('name'),
})

/** Since when processing is restricted, and who can lift the restriction. */
async function Restriction({ participant, mayChange }: { participant: Participant; mayChange: boolean }) {
  const t = await getTranslations('participants.restriction')
  const { id, project_id, claimed, restricted_at, restricted_for } = participant
  if (restricted_at === null) return null
  const isObjection = restricted_for.includes('objection') && !restricted_for.includes('request')
  return (
    <Section id="restriction" title={t('title')}>
      <p>{t.rich('since', { time: () => <Time key="time" at={restricted_at} /> })}</p>
      {claimed || isObjection ? (
        <p className="text-quiet">{t(claimed ? 'byAccount' : 'byObjection')}</p>
      ) : (
        mayChange && <LiftButton projectId={project_id} participantId={id} />
      )}
    </Section>
  )
}

interface AddressProps {
  participant: Participant
  reader: Pick<AccountView, 'email'>
  mayConfirm: boolean
}
/** That the holder of the address cannot claim the participation yet. Managers do not confirm addresses, and nobody confirms their own. */
async function Address({ participant, reader, mayConfirm }: AddressProps) {
  const t = await getTranslations('participants.address')
  const { id, project_id, email } = participant
  if (email === null || !isUnconfirmed(participant)) return null
  const isOwn = email === reader.email.toLowerCase()
  return (
    <Section id="address" title={t('title')}>
      <Alert tone="warning" title={t('unconfirmed')}>
        <p>{t('text')}</p>
        {mayConfirm && !isOwn ? (
          <ConfirmAddress projectId={project_id} participantId={id} email={email} />
        ) : (
          <p className="text-quiet">{t(isOwn ? 'byOther' : 'byOwner')}</p>
        )}
      </Alert>
    </Section>
  )
}

interface Props {
  params: Promise<{ id: string; participantId: string }>
}
export default async function ParticipantPage({ params }: Props) {
  const person = await requirePageAccess('participant')
  const { id, participantId: named } = await params
  const project = await projectNamed(id)
  if (!mayActForParticipants(project, person) || project.is_erasing || project.status === 'closed') notFound()
  const mayChange = person.role !== 'auditor'
  const [participant, requests] = await orNotFound(async () => {
    const which = { params: { projectId: project.id, participantId: decodeURIComponent(named) } }
    const { data } = await callUseCase(app.projects.readParticipant, which)
    return [data, await callUseCase(app.requests.listForParticipant, which)] as const
  })
  const [t, projects, format] = await Promise.all([
    getTranslations('participants'),
    getTranslations('projects.one'),
    getFormatter(),
  ])
  const where = { projectId: project.id, participantId: participant.id }
  return (
    <Messages of={['projects', 'participants', 'requests', 'storeProgress', 'erasurePlaces', 'dataNames']}>
      <Page
        title={<bdi>{participant.name ?? participant.external_id}</bdi>}
        breadcrumbs={[
          { href: '/projects', title: projects('back') },
          { href: projectPage(project.id), title: project.name },
          { href: projectPage(project.id, 'participants'), title: projects('tabs.participants') },
        ]}
        status={<ParticipantTags participant={participant} />}
        aside={
          <Card title={projects('details')}>
            <FactList
              facts={[
                [
                  t('facts.externalId'),
                  <CopyableId key="e" id={participant.external_id} what={t('facts.externalId')} />,
                ],
                [t('facts.email'), participant.email ?? t('noEmail')],
                [t('facts.messages'), format.number(participant.messages)],
                [t('facts.added'), <Time key="added" at={participant.created_at} />],
                [t('facts.id'), <CopyableId key="id" id={participant.id} what={t('facts.id')} />],
              ]}
            />
          </Card>
        }
      >
        <Address participant={participant} reader={person} mayConfirm={mayConfirmAddresses(project, person)} />
        <Section id="requests" title={t('requests.title')}>
          <ParticipantRequestList {...where} initial={requests} mayCancel={mayChange} />
        </Section>
        <Restriction participant={participant} mayChange={mayChange} />
        {mayChange && (
          <Section id="file" title={t('file.title')} lead={t('file.lead')}>
            <ParticipantFilingForm
              projectId={project.id}
              participant={participant}
              isOwner={project.role === 'owner'}
            />
          </Section>
        )}
      </Page>
    </Messages>
  )
}
