import type { Metadata } from 'next'
import { getFormatter, getTranslations } from 'next-intl/server'
import { AgentState } from '#components/agents/agent-state.tsx'
import { ConsentPanel } from '#components/agents/consent-panel.tsx'
import { isolated, score } from '#components/agents/names.ts'
import { PausePanel } from '#components/agents/pause-panel.tsx'
import { counted } from '#components/frame/counted.ts'
import { ButtonLink } from '#components/ui/button.tsx'
import { Facts } from '#components/ui/facts.tsx'
import { Section } from '#components/ui/page.tsx'
import { ShortId } from '#components/ui/short-id.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import { countedTo } from '#lib/domains/agents/rules.ts'
import { opened } from '../../reader.ts'
import { AgentPage, agentNamed } from './agent-page.tsx'

export const generateMetadata = async (): Promise<Metadata> => ({
  title: (await getTranslations('agents.one'))('name'),
})

export default async function AgentOverview({ params }: { params: Promise<{ id: string }> }) {
  await opened('agent')
  const agent = await agentNamed((await params).id)
  const [t, one, common, format] = await Promise.all([
    getTranslations('agents'),
    getTranslations('agents.one'),
    getTranslations('common'),
    getFormatter(),
  ])
  const held = (count: number) => counted(common, count, { limit: countedTo })
  const state = t(`states.${agent.state}.name`)
  const query = new URLSearchParams({ agent: agent.agent_id })
  const { holds } = agent
  const isGoing = agent.state === 'suspended' || agent.state === 'erasing'
  return (
    <AgentPage
      agent={agent}
      view="agent"
      words={['agents']}
      title={agent.name === null ? one('titleUnnamed', { state }) : one('title', { name: isolated(agent.name), state })}
      lead={<p>{t(`states.${agent.state}.text`)}</p>}
    >
      <Section id="holds" title={one('holds')} lead={one('holdsLead')}>
        <Facts
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
        <Facts
          facts={[
            [t('columns.state'), <AgentState key="state" state={agent.state} />],
            [one('id'), <ShortId key="id" id={agent.agent_id} what={t('id')} />],
            [one('tier'), one('tierText', { tier: t(`tiers.${agent.tier}`), most: agent.token_limit })],
            [one('created'), <Time key="created" at={agent.created_at} />],
            [one('firstUsed'), agent.first_used_at ? <Time key="used" at={agent.first_used_at} /> : one('neverUsed')],
            ...(agent.restricted_at
              ? ([
                  [one('pausedSince'), <Time key="paused" at={agent.restricted_at} />],
                  [one('why'), agent.restricted_for.map((reason) => t(`reasons.${reason}`)).join(', ')],
                ] as const)
              : []),
          ]}
        />
      </Section>
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
            <ConsentPanel agent={agent} />
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
    </AgentPage>
  )
}
