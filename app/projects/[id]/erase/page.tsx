import type { Metadata } from 'next'
import { notFound } from 'next/navigation'
import { getTranslations } from 'next-intl/server'
import type { ReactNode } from 'react'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { isolated } from '#components/agents/names.ts'
import { Messages } from '#components/frame/words.tsx'
import { conversationPage, type PlannedPart, projectPage, targetIn } from '#components/projects/endpoints.ts'
import { EraseDesk } from '#components/projects/erase-desk.tsx'
import { Page } from '#components/ui/page.tsx'
import { Time } from '#components/ui/time.tsx'
import { app } from '#lib/app-instance.ts'
import { orNotFound, projectNamed } from '../named.ts'

export const generateMetadata = async (): Promise<Metadata> => ({
  title: (await getTranslations('projects.plan'))('name'),
})

interface Shown {
  /** Empty for a message, because messages have no name. */
  name: string
  back: string
  preview?: ReactNode
}
const longest = 600

/** The name or text of the item to erase, and the page to return to. */
async function shownOf(projectId: string, { kind, id, conversation = '' }: PlannedPart): Promise<Shown> {
  if (kind === 'document') {
    const { data } = await callUseCase(app.projects.readDocument, { params: { projectId, documentId: id } })
    return { name: data.name, back: projectPage(projectId, 'documents') }
  }
  if (kind === 'conversation') {
    const { data } = await callUseCase(app.projects.readConversation, { params: { projectId, conversationId: id } })
    return { name: data.title, back: conversationPage(projectId, id) }
  }
  const t = await getTranslations('projects')
  const { data } = await callUseCase(app.projects.readMessage, {
    params: { projectId, conversationId: conversation, messageId: id },
  })
  const text = data.content.length > longest ? `${data.content.slice(0, longest).toWellFormed()}…` : data.content
  return {
    name: '',
    back: conversationPage(projectId, conversation, id),
    preview: (
      <figure className="grid gap-2 border-l-2 border-edge pl-4">
        <blockquote dir="auto" className="whitespace-pre-wrap [overflow-wrap:anywhere]">
          {text}
        </blockquote>
        <figcaption className="text-sm text-quiet">
          {t.rich('plan.the.by', {
            name: isolated(data.author.name ?? t('conversation.someone')),
            time: () => <Time key="time" at={data.created_at} />,
          })}
        </figcaption>
      </figure>
    ),
  }
}

interface Props {
  params: Promise<{ id: string }>
  searchParams: Promise<Record<string, string | string[] | undefined>>
}
export default async function ErasePage({ params, searchParams }: Props) {
  await requirePageAccess('partErasing')
  const project = await projectNamed((await params).id)
  const target = targetIn(await searchParams)
  if (!target) notFound()
  const { name, back, preview } = await orNotFound(() => shownOf(project.id, target))
  const [t, projects] = await Promise.all([getTranslations('projects.plan'), getTranslations('projects')])
  return (
    <Messages of={['projects', 'storeProgress', 'erasurePlaces', 'dataNames']}>
      <Page
        width="wide"
        title={t(`title.${target.kind}`, { name: isolated(name) })}
        breadcrumbs={[
          { href: '/projects', title: projects('one.back') },
          { href: projectPage(project.id), title: project.name },
          { href: back, title: t(`back.${target.kind}`) },
        ]}
        summary={t('lead')}
      >
        {preview}
        <EraseDesk projectId={project.id} target={target} mayRedact={project.role === 'owner'} />
      </Page>
    </Messages>
  )
}
