import type { Metadata } from 'next'
import { notFound } from 'next/navigation'
import { getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { DocumentActions } from '#components/agents/document-actions.tsx'
import { DocumentEdit } from '#components/agents/document-edit.tsx'
import { documentIn, documentPage, documentsPage, type WholeDocument } from '#components/agents/documents.ts'
import { agentHindranceOf } from '#components/agents/status-rules.ts'
import { Messages } from '#components/frame/words.tsx'
import { CodeBlock } from '#components/ui/code-block.tsx'
import { Page } from '#components/ui/page.tsx'
import { Time } from '#components/ui/time.tsx'
import { app } from '#lib/app-instance.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { agentBreadcrumbs, agentNamed } from '../../agent-page.tsx'

// The title is generic so that the document's name does not enter the browser history.
export const generateMetadata = async (): Promise<Metadata> => ({
  title: (await getTranslations('agentDocuments.one'))('name'),
})

async function documentNamed(agentId: string, documentId: string): Promise<WholeDocument> {
  try {
    const found = documentIn(await callUseCase(app.agents.readDocument, { params: { id: agentId, documentId } }))
    return found ?? notFound()
  } catch (error) {
    // An id in an invalid format is treated as a missing document.
    if (Problem.is(error, 'not_found', 'invalid')) notFound()
    throw error
  }
}

interface Props {
  params: Promise<{ id: string; documentId: string }>
  searchParams: Promise<Record<string, string | string[] | undefined>>
}
export default async function AgentDocumentPage({ params, searchParams }: Props) {
  const { role } = await requirePageAccess('agentDocument')
  const { id: named, documentId } = await params
  const agent = await agentNamed(named)
  const id = agent.agent_id
  const document = await documentNamed(id, documentId)
  const [t, documents, kinds, agents] = await Promise.all([
    getTranslations('agentDocuments.one'),
    getTranslations('agentDocuments'),
    getTranslations('agentDocuments.kinds'),
    getTranslations('agents'),
  ])
  const hindrance = agentHindranceOf(agent)
  const mayWrite = role !== 'auditor'
  const mayEdit = mayWrite && hindrance === undefined
  const isEditing = mayEdit && (await searchParams).edit !== undefined
  return (
    <Messages of={['agentDocuments']}>
      <Page
        title={<bdi>{document.title}</bdi>}
        breadcrumbs={[
          ...(await agentBreadcrumbs(agent)),
          { href: documentsPage(id), title: documents('name') },
          ...(isEditing ? [{ href: documentPage(id, document.id), title: document.title }] : []),
        ]}
        summary={t.rich('lead', {
          kind: kinds(document.kind),
          revision: document.revision,
          time: () => <Time at={document.updated_at} />,
        })}
        width="wide"
        actions={
          !isEditing && (
            <DocumentActions
              agentId={id}
              id={document.id}
              title={document.title}
              mayEdit={mayEdit}
              mayDelete={mayWrite}
            />
          )
        }
      >
        {isEditing ? (
          <DocumentEdit agentId={id} initial={document} />
        ) : (
          <>
            {mayWrite && hindrance !== undefined && <p className="text-quiet">{agents(`hindrances.${hindrance}`)}</p>}
            <CodeBlock code={document.body} what={t('text')} />
          </>
        )}
      </Page>
    </Messages>
  )
}
