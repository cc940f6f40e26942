import { getTranslations } from 'next-intl/server'
import { callUseCase } from '#app/page-access.ts'
import { identityOf } from '#app/settings/privacy/identity.ts'
import { callForOwnAgent } from '#app/settings/privacy/own-agents.ts'
import { PrivacyConsentPanel } from '#components/privacy/consent-panel.tsx'
import { RestrictionPanel } from '#components/privacy/restriction-panel.tsx'
import { StatementForm } from '#components/privacy/statement-form.tsx'
import { TelemetryPanel } from '#components/privacy/telemetry-panel.tsx'
import { Section } from '#components/ui/page.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { app } from '#lib/app-instance.ts'
import { readEnv } from '#lib/config/env.ts'
import { noticeVersion } from '#lib/domains/agents/rules.ts'
import { agentQuery, type PrivacyTabProps } from './tab.ts'

const groundOf = { consent: 'a', contract: 'b', legitimate_interest: 'f' } as const

/** Restricts processing, withdraws consent, and files an objection. */
export async function RestrictTab({ agent, person }: PrivacyTabProps) {
  const [t, words, standing, ofAll] = await Promise.all([
    getTranslations('myPrivacy'),
    getTranslations('inventory'),
    callForOwnAgent(app.agents.readRestriction, { query: agentQuery(agent?.id) }),
    callUseCase(app.agents.readRestriction),
  ])
  const basis = readEnv().KP_LAWFUL_BASIS
  const key = agent?.id ?? ''
  return (
    <div className="grid max-w-[48rem] gap-6">
      <Section
        id="restrict"
        title={t('restrict.title')}
        lead={t('restrict.lead', { whom: agent ? 'agent' : 'person', agent: agent?.name ?? '' })}
      >
        <RestrictionPanel
          key={key}
          initial={standing}
          agent={agent}
          isOfAll={agent !== undefined && ofAll.data.restricted_for.includes('request')}
        />
      </Section>
      <Section id="consent" title={t('consent.title')} lead={t('consent.lead')}>
        <PrivacyConsentPanel
          key={key}
          agent={agent}
          agents={standing.data.agents}
          withdrawn={standing.data.withdrawn_agents}
          noticeVersion={noticeVersion}
          otherBasis={basis === 'consent' ? undefined : words(`bases.${groundOf[basis]}`)}
        />
      </Section>
      {!agent && (
        <Section
          id="telemetry"
          title={t('telemetry.title')}
          lead={t.rich('telemetry.lead', { link: (text) => <TextLink href="/telemetry">{text}</TextLink> })}
        >
          <TelemetryPanel initial={person.telemetry} />
        </Section>
      )}
      <Section
        id="object"
        title={t('object.title')}
        lead={t.rich('object.lead', { link: (text) => <TextLink href="/telemetry">{text}</TextLink> })}
      >
        <StatementForm key={`object ${key}`} about="object" agentId={agent?.id} identity={identityOf(person)} />
      </Section>
    </div>
  )
}
