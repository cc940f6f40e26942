import type { Metadata } from 'next'
import { useTranslations } from 'next-intl'
import { getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { countText } from '#components/frame/count-text.ts'
import { Messages } from '#components/frame/words.tsx'
import { ClosingAlert } from '#components/projects/closing-panel.tsx'
import { ConversationRegion } from '#components/projects/conversation-region.tsx'
import {
  type Conversation,
  conversationPage,
  erasePage,
  exportFile,
  type Project,
  type ProjectMessage,
  projectPage,
} from '#components/projects/endpoints.ts'
import { type ConversationPosition, MessageList } from '#components/projects/message-list.tsx'
import { type Missing, missingFor } from '#components/projects/missing-rules.ts'
import { OutsideAlert } from '#components/projects/outside-alert.tsx'
import { WriteMessageForm } from '#components/projects/write-message-form.tsx'
import { WriterName } from '#components/projects/writer-name.tsx'
import { ButtonLink } from '#components/ui/button.tsx'
import { CopyableId } from '#components/ui/copyable-id.tsx'
import { FactList } from '#components/ui/facts.tsx'
import { Card, Page, Section } from '#components/ui/page.tsx'
import { Time } from '#components/ui/time.tsx'
import { app } from '#lib/app-instance.ts'
import { isStorable } from '#lib/kernel/data-regions.ts'
import { encodeCursor } from '#lib/kernel/pages.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { orNotFound, projectNamed } from '../../named.ts'
import { MissingMessage } from './missing-message.tsx'

export const generateMetadata = async (): Promise<Metadata> => ({
  title: (await getTranslations('projects.conversation'))('name'),
})

const limit = '50'
interface MessageAddress {
  projectId: string
  conversationId: string
}
const listed = (params: MessageAddress, order: 'oldest' | 'newest', cursor?: string) =>
  callUseCase(app.projects.messages, {
    params: { ...params },
    query: { order, limit, ...(cursor !== undefined && { cursor }) },
  })

/** The message in the URL with the messages around it, or the reason why it is missing. */
async function around(params: MessageAddress, messageId: string): Promise<ConversationPosition | Missing> {
  let message: ProjectMessage
  try {
    const { former: _, ...own } = (await callUseCase(app.projects.readMessage, { params: { ...params, messageId } }))
      .data
    message = own
  } catch (error) {
    const missing = Problem.is(error) ? missingFor(error) : undefined
    if (missing) return missing
    throw error
  }
  const cursor = encodeCursor(new Date(message.created_at), message.id)
  const [newest, oldest] = await Promise.all([listed(params, 'newest', cursor), listed(params, 'oldest', cursor)])
  return { at: 'message', message, cursor, newest, oldest }
}

interface Props {
  params: Promise<{ id: string; conversationId: string }>
  searchParams: Promise<Record<string, string | string[] | undefined>>
}
export default async function ConversationPage({ params, searchParams }: Props) {
  const person = await requirePageAccess('conversation')
  const named = await params
  const project = await projectNamed(named.id)
  const projectId = project.id
  const conversationId = await orNotFound(async () => decodeURIComponent(named.conversationId))
  const place = { projectId, conversationId }
  const { data: conversation } = await orNotFound(() =>
    callUseCase(app.projects.readConversation, { params: { ...place } }),
  )
  const query = await searchParams
  const found = typeof query.message === 'string' ? await around(place, query.message) : undefined
  const position: ConversationPosition =
    found !== undefined && 'at' in found
      ? found
      : query.from === 'first'
        ? { at: 'first', oldest: await listed(place, 'oldest') }
        : { at: 'last', newest: await listed(place, 'newest') }
  const [t, projects, common] = await Promise.all([
    getTranslations('projects.conversation'),
    getTranslations('projects'),
    getTranslations('common'),
  ])
  const isOwner = project.role === 'owner'
  const { kind, id: begunBy } = conversation.created_by
  const mayErase = isOwner || (kind === 'account' && begunBy === person.account_id)
  const isProjectStorable = isStorable(app.regions, project.region)
  const isWritable = isProjectStorable && isStorable(app.regions, conversation.region)
  const here = conversationPage(projectId, conversationId)
  return (
    <Messages of={['projects']}>
      <Page
        title={<bdi>{conversation.title}</bdi>}
        breadcrumbs={[
          { href: '/projects', title: projects('one.back') },
          { href: projectPage(projectId), title: project.name },
        ]}
        summary={t('summary', { count: conversation.messages, shown: countText(common, conversation.messages) })}
        actions={
          <>
            {position.at !== 'first' && (
              <ButtonLink tone="plain" href={`${here}?from=first`}>
                {t('toFirst')}
              </ButtonLink>
            )}
            {position.at !== 'last' && (
              <ButtonLink tone="plain" href={here}>
                {t('toLast')}
              </ButtonLink>
            )}
            {mayErase && (
              <ButtonLink
                tone="plain"
                href={erasePage(projectId, { kind: 'conversation', id: conversationId })}
                prefetch={false}
              >
                {t('eraseAll')}
              </ButtonLink>
            )}
          </>
        }
        aside={<ConversationFacts conversation={conversation} project={project} />}
      >
        <ClosingAlert project={project} exportHref={exportFile(projectId)} />
        {!isWritable && <OutsideAlert of={isProjectStorable ? 'conversation' : 'project'} />}
        {found !== undefined && 'is' in found && <MissingMessage projectId={projectId} missing={found} />}
        <MessageList
          key={position.at === 'message' ? position.message.id : position.at}
          projectId={projectId}
          conversationId={conversationId}
          position={position}
          isOwner={isOwner}
        />
        {person.role !== 'auditor' && isWritable && (
          <Section id="write" title={t('write.title')}>
            <WriteMessageForm projectId={projectId} conversationId={conversationId} />
          </Section>
        )}
      </Page>
    </Messages>
  )
}

function ConversationFacts({ conversation, project }: { conversation: Conversation; project: Project }) {
  const t = useTranslations('projects.conversation')
  return (
    <Card title={t('facts')}>
      <FactList
        facts={[
          [t('id'), <CopyableId key="id" id={conversation.id} what={t('id')} />],
          [t('region'), <ConversationRegion key="region" conversation={conversation} project={project} />],
          [
            t('threads'),
            <ul key="threads" className="grid gap-1">
              {conversation.threads.map((thread) => (
                <li key={thread}>
                  <CopyableId id={thread} what={t('threads')} />
                </li>
              ))}
            </ul>,
          ],
          [
            t('begun'),
            <span key="begun">
              <Time at={conversation.created_at} /> · <WriterName writer={conversation.created_by} />
            </span>,
          ],
        ]}
      />
    </Card>
  )
}
