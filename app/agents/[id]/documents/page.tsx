import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { DocumentForm } from '#components/agents/document-form.tsx'
import { AgentDocumentList } from '#components/agents/document-list.tsx'
import { documentsAtOnce, documentsPage } from '#components/agents/documents.ts'
import { agentHindranceOf } from '#components/agents/status-rules.ts'
import { Section } from '#components/ui/page.tsx'
import { Tabs } from '#components/ui/tabs.tsx'
import { app } from '#lib/app-instance.ts'
import { agentDocumentKinds } from '#lib/domains/agents/life/rules.ts'
import { AgentPageFrame, agentNamed } from '../agent-page.tsx'

export const generateMetadata = async (): Promise<Metadata> => ({
  title: (await getTranslations('agentDocuments'))('name'),
})

interface Props {
  params: Promise<{ id: string }>
  searchParams: Promise<Record<string, string | string[] | undefined>>
}
export default async function AgentDocumentsPage({ params, searchParams }: Props) {
  const { role } = await requirePageAccess('agentDocuments')
  const agent = await agentNamed((await params).id)
  const asked = (await searchParams).kind
  const kind = agentDocumentKinds.find((one) => one === asked)
  const id = agent.agent_id
  const [t, agents, documents, all] = await Promise.all([
    getTranslations('agentDocuments'),
    getTranslations('agents'),
    callUseCase(app.agents.listDocuments, {
      params: { id },
      query: { limit: String(documentsAtOnce), ...(kind && { kind }) },
    }),
    callUseCase(app.agents.listDocuments, { params: { id }, query: { limit: '1' } }),
  ])
  const hindrance = agentHindranceOf(agent)
  return (
    <AgentPageFrame agent={agent} view="agentDocuments" words={['agentDocuments']} lead={<p>{t('lead')}</p>}>
      <div className="grid gap-4">
        {all.total > 0 && (
          <Tabs
            label={t('views.label')}
            tabs={[undefined, ...agentDocumentKinds].map((one) => ({
              href: documentsPage(id, one),
              title: t(`views.${one ?? 'all'}`),
              isCurrent: one === kind,
              ...(one === undefined && { count: all.total }),
            }))}
          />
        )}
        <AgentDocumentList key={kind ?? 'all'} agentId={id} initial={documents} kind={kind} />
      </div>
      <Section id="add" title={t('add.title')}>
        {role === 'auditor' ? (
          <p className="text-quiet">{t('auditor')}</p>
        ) : hindrance !== undefined ? (
          <p className="text-quiet">{agents(`hindrances.${hindrance}`)}</p>
        ) : (
          <DocumentForm agentId={id} kind={kind ?? 'strategy_thesis'} />
        )}
      </Section>
    </AgentPageFrame>
  )
}
