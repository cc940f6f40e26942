import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { AgentControls } from '#components/agents/agent-controls.tsx'
import { AgentCounts } from '#components/agents/agent-counts.tsx'
import { AgentFacts } from '#components/agents/agent-facts.tsx'
import { CardPanel } from '#components/agents/card-panel.tsx'
import { agentStatusTags } from '#components/agents/status-rules.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Section } from '#components/ui/page.tsx'
import { app } from '#lib/app-instance.ts'
import { isStorable } from '#lib/kernel/data-regions.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { AgentPageFrame, agentNamed } from './agent-page.tsx'

export const generateMetadata = async (): Promise<Metadata> => ({
  title: (await getTranslations('agents.one'))('name'),
})

/** The agent's public performance card; undefined without one, and while the agent is restricted, suspended or retired. */
async function cardOf(id: string) {
  try {
    return (await callUseCase(app.clades.readCard, { params: { id } })).data
  } catch (error) {
    if (Problem.is(error, 'not_found')) return undefined
    throw error
  }
}

export default async function AgentOverview({ params }: { params: Promise<{ id: string }> }) {
  const { role } = await requirePageAccess('agent')
  const agent = await agentNamed((await params).id)
  const id = { id: agent.agent_id }
  const [t, living, documents, heartbeats, card] = await Promise.all([
    getTranslations('agents'),
    callUseCase(app.agents.readAgent, { params: id }),
    callUseCase(app.agents.listDocuments, { params: id, query: { limit: '1' } }),
    callUseCase(app.agents.listHeartbeats, { params: id, query: { limit: '1' } }),
    cardOf(agent.agent_id),
  ])
  const isAvailable = isStorable(app.regions, agent.region)
  const mayWrite = role !== 'auditor'
  return (
    <AgentPageFrame
      agent={agent}
      view="agent"
      words={['agents']}
      lead={agentStatusTags(agent).map((status) => <p key={status}>{t(`states.${status}.text`)}</p>)}
      aside={<AgentFacts agent={agent} isAvailable={isAvailable} />}
    >
      {!isAvailable && (
        <Alert tone="warning" title={t('one.outside.title')}>
          <p>{t('one.outside.text')}</p>
        </Alert>
      )}
      <AgentCounts agent={agent} documents={documents.total} heartbeats={heartbeats.total} />
      {card && (
        <Section id="card" title={t('one.card.title')} lead={t('one.card.lead')}>
          <CardPanel card={card} mayWithdraw={mayWrite} />
        </Section>
      )}
      <AgentControls
        agent={agent}
        days={{ grimoire: living.data.grimoire_days, document: living.data.document_days }}
        mayWrite={mayWrite}
      />
    </AgentPageFrame>
  )
}
