import { useTranslations } from 'next-intl'
import { ButtonLink } from '#components/ui/button.tsx'
import { Section } from '#components/ui/page.tsx'
import type { OwnAgentWhole } from './agents.ts'
import { AgentConsentPanel } from './consent-panel.tsx'
import { PausePanel } from './pause-panel.tsx'
import { RetentionDaysForm } from './retention-days-form.tsx'
import { AfterRetirement, StatusPanel } from './status-panel.tsx'
import { agentHindranceOf } from './status-rules.ts'

/** Whether the agent's data waits for deletion or is being deleted. */
const isBeingDeleted = ({ state }: Pick<OwnAgentWhole, 'state'>): boolean =>
  state === 'suspended' || state === 'erasing'

interface AgentControlsProps {
  agent: OwnAgentWhole
  /** Days until grimoire entries are deleted; null keeps them. */
  days: Record<'grimoire' | 'document', number | null>
  mayWrite: boolean
}

/** What the owner can decide about the agent: pause, retire, retention, restriction, consent and deletion. */
export function AgentControls({ agent, days, mayWrite }: AgentControlsProps) {
  const t = useTranslations('agents.one')
  const { died_at: diedAt } = agent
  const isGoing = isBeingDeleted(agent)
  return (
    <>
      {diedAt && (
        <Section id="status" title={t('status.dead.title')}>
          <AfterRetirement agent={agent} diedAt={diedAt} />
        </Section>
      )}
      {!diedAt && !isGoing && (
        <Section id="status" title={t(agent.status === 'paused' ? 'status.titlePaused' : 'status.title')}>
          <StatusPanel agent={agent} />
        </Section>
      )}
      {!diedAt && <RetentionPeriods agent={agent} days={days} mayWrite={mayWrite} />}
      {!isGoing && (
        <>
          <Section
            id="pause"
            title={agent.restricted_at ? t('resumeTitle') : t('pauseTitle')}
            lead={agent.restricted_at ? undefined : t('pauseLead')}
          >
            <PausePanel agent={agent} />
          </Section>
          <Section id="consent" title={t('consentTitle')}>
            <AgentConsentPanel agent={agent} />
          </Section>
        </>
      )}
      <Deletion agent={agent} />
    </>
  )
}

function RetentionPeriods({ agent, days, mayWrite }: AgentControlsProps) {
  const t = useTranslations('agents')
  const hindrance = agentHindranceOf(agent)
  return (
    <Section id="settings" title={t('one.settings.title')}>
      {hindrance === undefined && mayWrite ? (
        (['grimoire', 'document'] as const).map((of) => (
          <RetentionDaysForm key={of} agentId={agent.agent_id} of={of} days={days[of]} />
        ))
      ) : (
        <>
          <p>
            {days.grimoire === null
              ? t('one.settings.grimoire.savedForEver')
              : t('one.settings.grimoire.savedDays', { days: days.grimoire })}
          </p>
          <p>
            {days.document === null
              ? t('one.settings.document.savedForEver')
              : t('one.settings.document.savedDays', { days: days.document })}
          </p>
          {hindrance !== undefined && <p className="text-quiet">{t(`hindrances.${hindrance}`)}</p>}
        </>
      )}
    </Section>
  )
}

function Deletion({ agent }: { agent: OwnAgentWhole }) {
  const t = useTranslations('agents.one')
  const isGoing = isBeingDeleted(agent)
  const query = new URLSearchParams({ agent: agent.agent_id })
  return (
    <Section id="delete" title={t('deleteTitle')} lead={isGoing ? undefined : t('deleteText')}>
      <p>
        {isGoing ? (
          <ButtonLink href="/settings/privacy" tone="plain">
            {t('toRequests')}
          </ButtonLink>
        ) : (
          <ButtonLink href={`/settings/privacy/delete?${query}`} tone="danger">
            {t('deleteDo')}
          </ButtonLink>
        )}
      </p>
    </Section>
  )
}
