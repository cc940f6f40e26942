import type { Metadata } from 'next'
import { getFormatter, getLocale, getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { AgentStateTag } from '#components/agents/agent-state.tsx'
import { CardPanel } from '#components/agents/card-panel.tsx'
import { AgentConsentPanel } from '#components/agents/consent-panel.tsx'
import { documentsPage } from '#components/agents/documents.ts'
import { GrimoireDaysForm } from '#components/agents/grimoire-days-form.tsx'
import { agentTitle, score } from '#components/agents/names.ts'
import { PausePanel } from '#components/agents/pause-panel.tsx'
import { recordsPage } from '#components/agents/records.ts'
import { AfterRetirement, StatusPanel } from '#components/agents/status-panel.tsx'
import { agentHindranceOf, agentStatusTags, heartbeatsUntil } from '#components/agents/status-rules.ts'
import { countText } from '#components/frame/count-text.ts'
import { Alert } from '#components/ui/alert.tsx'
import { ButtonLink } from '#components/ui/button.tsx'
import { FactList } from '#components/ui/facts.tsx'
import { Section } from '#components/ui/page.tsx'
import { regionTitle } from '#components/ui/region-words.ts'
import { ShortId } from '#components/ui/short-id.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import { app } from '#lib/app-instance.ts'
import { heartbeatsCountedTo } from '#lib/domains/agents/life/rules.ts'
import { ownAgentsCountedTo } from '#lib/domains/agents/rules.ts'
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
  const [t, one, common, format, living, documents, heartbeats, card] = await Promise.all([
    getTranslations('agents'),
    getTranslations('agents.one'),
    getTranslations('common'),
    getFormatter(),
    callUseCase(app.agents.readAgent, { params: id }),
    callUseCase(app.agents.listDocuments, { params: id, query: { limit: '1' } }),
    callUseCase(app.agents.listHeartbeats, { params: id, query: { limit: '1' } }),
    cardOf(agent.agent_id),
  ])
  const held = (count: number) => countText(common, count, { limit: ownAgentsCountedTo })
  const statuses = agentStatusTags(agent)
  const state = format.list(statuses.map((standing) => t(`states.${standing}.name`)))
  const query = new URLSearchParams({ agent: agent.agent_id })
  const { holds } = agent
  const isAvailable = isStorable(app.regions, agent.region)
  const diedAt = agent.died_at
  const isGoing = agent.state === 'suspended' || agent.state === 'erasing'
  const mayWrite = role !== 'auditor'
  const days = living.data.grimoire_days
  const hindrance = agentHindranceOf(agent)
  return (
    <AgentPageFrame
      agent={agent}
      view="agent"
      words={['agents']}
      title={one('title', { name: agentTitle(agent), state })}
      lead={statuses.map((standing) => <p key={standing}>{t(`states.${standing}.text`)}</p>)}
    >
      {!isAvailable && (
        <Alert tone="warning" title={one('outside.title')}>
          <p>{one('outside.text')}</p>
        </Alert>
      )}
      <Section id="holds" title={one('holds')} lead={one('holdsLead')}>
        {agent.self_hosted && <p>{one('selfHostedText')}</p>}
        <FactList
          facts={[
            [
              one('units'),
              <TextLink key="units" href={`/knowledge?${query}`}>
                {held(holds.units)}
              </TextLink>,
            ],
            [
              one('skills'),
              <TextLink key="skills" href={`/knowledge?${query}&kind=skill`}>
                {held(holds.skills)}
              </TextLink>,
            ],
            [
              one('documents'),
              <TextLink key="documents" href={documentsPage(agent.agent_id)}>
                {format.number(documents.total)}
              </TextLink>,
            ],
            [
              one('heartbeats'),
              <TextLink key="heartbeats" href={recordsPage(agent.agent_id, 'heartbeats')}>
                {countText(common, heartbeats.total, { limit: heartbeatsCountedTo })}
              </TextLink>,
            ],
            [
              one('tokens'),
              <TextLink key="tokens" href={`/tokens?${query}`}>
                {t('tokensOf', { used: holds.tokens, most: agent.token_limit })}
              </TextLink>,
            ],
            [one('reputation'), format.number(holds.reputation, score)],
          ]}
        />
      </Section>
      <Section id="about" title={one('about')}>
        <FactList
          facts={[
            [t('columns.state'), <AgentStateTag key="state" agent={agent} />],
            ...(agent.status !== 'active' && agent.status_at
              ? ([[one(`since.${agent.status}`), <Time key="since" at={agent.status_at} relative />]] as const)
              : []),
            ...(diedAt
              ? ([
                  [
                    one('heartbeatsUntil'),
                    <Time key="heartbeats" at={heartbeatsUntil(diedAt).toISOString()} relative />,
                  ],
                ] as const)
              : []),
            ...(agent.restricted_at
              ? ([
                  [one('pausedSince'), <Time key="paused" at={agent.restricted_at} />],
                  [one('why'), agent.restricted_for.map((reason) => t(`reasons.${reason}`)).join(', ')],
                ] as const)
              : []),
            [one('id'), <ShortId key="id" id={agent.agent_id} what={t('id')} />],
            [
              one('region'),
              regionTitle(
                {
                  anywhere: one('regions.anywhere'),
                  eu: one('regions.eu'),
                  country: (country) => one('regions.country', { country }),
                },
                await getLocale(),
                agent.region,
              ),
            ],
            [one('runs'), one(agent.self_hosted ? 'runsElsewhere' : 'runsHere')],
            ...(agent.self_hosted || agent.status === 'dead'
              ? []
              : ([
                  [
                    one('snapshots'),
                    one(
                      agent.automatic_snapshots ? 'snapshotsMade' : isAvailable ? 'snapshotsNone' : 'snapshotsOutside',
                    ),
                  ],
                ] as const)),
            [one('tier'), one('tierText', { tier: t(`tiers.${agent.tier}`), most: agent.token_limit })],
            [one('created'), <Time key="created" at={agent.created_at} />],
            [one('firstUsed'), agent.first_used_at ? <Time key="used" at={agent.first_used_at} /> : one('neverUsed')],
          ]}
        />
      </Section>
      {diedAt && (
        <Section id="status" title={one('status.dead.title')}>
          <AfterRetirement agent={agent} diedAt={diedAt} />
        </Section>
      )}
      {!diedAt && !isGoing && (
        <Section
          id="status"
          title={one(agent.status === 'paused' ? 'status.titlePaused' : 'status.title')}
          lead={one('status.lead')}
        >
          <StatusPanel agent={agent} />
        </Section>
      )}
      {!diedAt && (
        <Section id="settings" title={one('settings.title')} lead={one('settings.lead')}>
          {hindrance === undefined && mayWrite ? (
            <GrimoireDaysForm agentId={agent.agent_id} days={days} />
          ) : (
            <>
              <p>{days === null ? one('settings.staysForEver') : one('settings.goesAfter', { days })}</p>
              {hindrance !== undefined && <p className="text-quiet">{t(`hindrances.${hindrance}`)}</p>}
            </>
          )}
        </Section>
      )}
      {card && (
        <Section id="card" title={one('card.title')} lead={one('card.lead')}>
          <CardPanel card={card} mayWithdraw={mayWrite} />
        </Section>
      )}
      {!isGoing && (
        <>
          <Section
            id="pause"
            title={agent.restricted_at ? one('resumeTitle') : one('pauseTitle')}
            lead={one('pauseLead')}
          >
            <PausePanel agent={agent} />
          </Section>
          <Section id="consent" title={one('consentTitle')}>
            <AgentConsentPanel agent={agent} />
          </Section>
        </>
      )}
      <Section id="delete" title={one('deleteTitle')} lead={isGoing ? undefined : one('deleteText')}>
        <p>
          {isGoing ? (
            <ButtonLink href="/settings/privacy" tone="plain">
              {one('toRequests')}
            </ButtonLink>
          ) : (
            <ButtonLink href={`/settings/privacy/delete?${query}`} tone="danger">
              {one('deleteDo')}
            </ButtonLink>
          )}
        </p>
      </Section>
    </AgentPageFrame>
  )
}
