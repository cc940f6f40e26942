import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { agentHindranceOf } from '#components/agents/status-rules.ts'
import { entryQueryOf, loadEntryFilters } from '#components/grimoire/endpoints.ts'
import { GrimoireDesk } from '#components/grimoire/grimoire-desk.tsx'
import { app } from '#lib/app-instance.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { AgentPageFrame, agentNamed } from '../agent-page.tsx'

export const generateMetadata = async (): Promise<Metadata> => ({
  title: (await getTranslations('agentGrimoire'))('name'),
})

/** The agent's keyring; null when none exists yet. */
async function keyringOf(id: string) {
  try {
    return (await callUseCase(app.grimoire.readKeyring, { params: { id } })).data
  } catch (error) {
    if (Problem.is(error, 'not_found')) return null
    throw error
  }
}

export default async function AgentGrimoire({
  params,
  searchParams,
}: {
  params: Promise<{ id: string }>
  searchParams: Promise<Record<string, string | string[] | undefined>>
}) {
  const { role } = await requirePageAccess('agentGrimoire')
  const agent = await agentNamed((await params).id)
  const { agent_id: id } = agent
  const asked = await loadEntryFilters(searchParams)
  const list = (query: Record<string, string>) => callUseCase(app.grimoire.listEntries, { params: { id }, query })
  const [t, keyring, initial, living] = await Promise.all([
    getTranslations('agentGrimoire'),
    keyringOf(id),
    list(entryQueryOf(asked)),
    callUseCase(app.agents.readAgent, { params: { id } }),
  ])
  const { grimoire_days: days } = living.data
  return (
    <AgentPageFrame
      agent={agent}
      view="agentGrimoire"
      words={['agentGrimoire', 'agents']}
      lead={
        <>
          <p>{t('lead')}</p>
          {agent.self_hosted && <p>{t('selfHosted')}</p>}
          {days !== null && <p>{t('days', { days })}</p>}
        </>
      }
    >
      <GrimoireDesk
        agentId={id}
        hindrance={agentHindranceOf(agent)}
        isElsewhere={agent.self_hosted}
        mayWrite={role !== 'auditor'}
        keyring={keyring}
        initial={initial}
        initialFilters={asked}
      />
    </AgentPageFrame>
  )
}
