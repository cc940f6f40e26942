import type { Metadata } from 'next'
import { getFormatter, getNow, getTranslations } from 'next-intl/server'
import { AgentPageFrame, agentNamed } from '#app/agents/[id]/agent-page.tsx'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { ChainNoteForm } from '#components/agents/chain-note-form.tsx'
import { ChainNotes } from '#components/agents/chain-notes.tsx'
import { HeartbeatList } from '#components/agents/heartbeat-list.tsx'
import { ModelLog } from '#components/agents/model-log.tsx'
import { heartbeatFile, recordsPage, recordsPerPage, recordViewNamed, recordViews } from '#components/agents/records.ts'
import { agentHindranceOf, heartbeatsUntil } from '#components/agents/status-rules.ts'
import { countText } from '#components/frame/count-text.ts'
import { Alert } from '#components/ui/alert.tsx'
import { PlainButtonLink } from '#components/ui/button.tsx'
import { EmptyState } from '#components/ui/empty-state.tsx'
import { Section } from '#components/ui/page.tsx'
import { Tabs } from '#components/ui/tabs.tsx'
import { Time } from '#components/ui/time.tsx'
import { app } from '#lib/app-instance.ts'
import type { OwnAgent } from '#lib/domains/agents/contract.ts'
import { heartbeatsCountedTo } from '#lib/domains/agents/life/rules.ts'

export const generateMetadata = async (): Promise<Metadata> => ({
  title: (await getTranslations('agentRecords'))('name'),
})

const limit = String(recordsPerPage)

interface Props {
  params: Promise<{ id: string }>
  searchParams: Promise<Record<string, string | string[] | undefined>>
}
export default async function AgentRecordsPage({ params, searchParams }: Props) {
  const { role } = await requirePageAccess('agentRecords')
  const agent = await agentNamed((await params).id)
  const view = recordViewNamed((await searchParams).show)
  const id = agent.agent_id
  // The view that is shown needs its rows; the others need only their totals.
  const limitOf = (one: typeof view) => (one === view ? limit : '1')
  const [t, common, format, notes, exchanges, heartbeats] = await Promise.all([
    getTranslations('agentRecords'),
    getTranslations('common'),
    getFormatter(),
    callUseCase(app.agents.listChainReferences, { params: { id }, query: { limit: limitOf('chain') } }),
    callUseCase(app.llmLog.list, { query: { agent_id: id, limit: limitOf('log') } }),
    callUseCase(app.agents.listHeartbeats, { params: { id }, query: { limit: limitOf('heartbeats') } }),
  ])
  const mayWrite = role !== 'auditor'
  const counts = {
    chain: format.number(notes.total),
    log: format.number(exchanges.total),
    heartbeats: countText(common, heartbeats.total, { limit: heartbeatsCountedTo }),
  }
  return (
    <AgentPageFrame agent={agent} view="agentRecords" words={['agentRecords', 'sensitiveKinds']}>
      <Tabs
        label={t('views.label')}
        tabs={recordViews.map((one) => ({
          href: recordsPage(id, one),
          title: t(`views.${one}`),
          isCurrent: one === view,
          count: counts[one],
        }))}
      />
      {view === 'chain' && (
        <>
          <Alert title={t('chain.whyTitle')}>
            <p>{t('chain.why')}</p>
            <p>{t('chain.ours')}</p>
          </Alert>
          <ChainNotes agentId={id} initial={notes} mayDelete={mayWrite} />
          <Section id="add" title={t('chain.add.title')}>
            <NoteForm agent={agent} mayWrite={mayWrite} />
          </Section>
        </>
      )}
      {view === 'log' && (
        <>
          <p>{t('log.lead')}</p>
          <ModelLog agentId={id} initial={exchanges} mayDelete={mayWrite} />
        </>
      )}
      {view === 'heartbeats' && (
        <>
          <HeartbeatClock agent={agent} total={heartbeats.total} />
          {(await areGone(agent)) ? (
            <EmptyState title={t('heartbeats.gone')}>
              <p>{t('heartbeats.goneText')}</p>
            </EmptyState>
          ) : (
            <HeartbeatList agentId={id} initial={heartbeats} />
          )}
        </>
      )}
    </AgentPageFrame>
  )
}

async function areGone({ died_at: diedAt }: OwnAgent): Promise<boolean> {
  return diedAt !== null && (await getNow()) >= heartbeatsUntil(diedAt)
}

async function NoteForm({ agent, mayWrite }: { agent: OwnAgent; mayWrite: boolean }) {
  const [t, agents] = await Promise.all([getTranslations('agentRecords'), getTranslations('agents')])
  const hindrance = agentHindranceOf(agent)
  if (!mayWrite) return <p className="text-quiet">{t('auditor')}</p>
  if (hindrance !== undefined) return <p className="text-quiet">{agents(`hindrances.${hindrance}`)}</p>
  return <ChainNoteForm agentId={agent.agent_id} />
}

/** When heartbeats expire, and a link to export them. */
async function HeartbeatClock({ agent, total }: { agent: OwnAgent; total: number }) {
  const t = await getTranslations('agentRecords.heartbeats')
  const { died_at: diedAt } = agent
  if (await areGone(agent)) return null
  return (
    <div className="grid justify-items-start gap-3">
      <p>
        {diedAt === null
          ? t('kept')
          : t.rich('keptUntil', { time: () => <Time at={heartbeatsUntil(diedAt).toISOString()} relative /> })}
      </p>
      {total > 0 && (
        <PlainButtonLink tone="plain" href={heartbeatFile(agent.agent_id)} download>
          {t('export')}
        </PlainButtonLink>
      )}
    </div>
  )
}
