import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { agentHindranceOf } from '#components/agents/status-rules.ts'
import { snapshotsPerPage } from '#components/snapshots/endpoints.ts'
import { SnapshotDesk } from '#components/snapshots/snapshot-desk.tsx'
import { StatePanel } from '#components/snapshots/state-panel.tsx'
import { Section } from '#components/ui/page.tsx'
import { app } from '#lib/app-instance.ts'
import { maxInsurances, maxOnDemand } from '#lib/domains/snapshots/rules.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { AgentPageFrame, agentNamed } from '../agent-page.tsx'

export const generateMetadata = async (): Promise<Metadata> => ({
  title: (await getTranslations('agentSnapshots'))('name'),
})

/** The data of a response; undefined when the agent has no such record (404). */
async function unlessNone<T>(asked: Promise<{ data: T }>): Promise<T | undefined> {
  try {
    return (await asked).data
  } catch (error) {
    if (Problem.is(error, 'not_found')) return undefined
    throw error
  }
}

export default async function AgentSnapshots({ params }: { params: Promise<{ id: string }> }) {
  const { role } = await requirePageAccess('agentSnapshots')
  const agent = await agentNamed((await params).id)
  const of = { params: { id: agent.agent_id } }
  const [t, list, keyring, state] = await Promise.all([
    getTranslations('agentSnapshots'),
    callUseCase(app.snapshots.listSnapshots, { ...of, query: { limit: String(snapshotsPerPage) } }),
    unlessNone(callUseCase(app.grimoire.readKeyring, of)),
    unlessNone(callUseCase(app.snapshots.readState, of)),
  ])
  const mayWrite = role !== 'auditor'
  const hindrance = agentHindranceOf(agent)
  const isGoing = agent.state === 'suspended' || agent.state === 'erasing'
  return (
    <AgentPageFrame
      agent={agent}
      view="agentSnapshots"
      words={['agentSnapshots', 'sensitiveKinds']}
      lead={
        <>
          <p>{t('lead')}</p>
          <p>{t(agent.status === 'dead' ? 'insuredDead' : 'insured', { most: maxInsurances })}</p>
        </>
      }
    >
      <SnapshotDesk
        agentId={agent.agent_id}
        initial={list}
        hasKeyring={keyring !== undefined}
        mayMakeKeyring={mayWrite && hindrance === undefined}
        isRetired={agent.status === 'dead'}
        mayWrite={mayWrite}
        hindered={isGoing ? t('make.going') : undefined}
        most={maxOnDemand}
      />
      <Section id="state" title={t('state.title')} lead={t('state.lead')}>
        {state ? <StatePanel state={state} mayWrite={mayWrite} /> : <p className="text-quiet">{t('state.none')}</p>}
      </Section>
    </AgentPageFrame>
  )
}
