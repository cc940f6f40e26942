import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { SessionList } from '#components/accounts/session-list.tsx'
import { AgentList } from '#components/agents/agent-list.tsx'
import { ClaimForm } from '#components/agents/claim-form.tsx'
import { ButtonLink } from '#components/ui/button.tsx'
import { Facts } from '#components/ui/facts.tsx'
import { Page, Section } from '#components/ui/page.tsx'
import { ShortId } from '#components/ui/short-id.tsx'
import { app } from '#lib/app.ts'
import { ask, settled } from '../../reader.ts'

export const generateMetadata = async (): Promise<Metadata> => ({ title: (await getTranslations('account'))('name') })

export default async function AccountPage() {
  const person = await settled('/account')
  const [t, agents, sessions] = await Promise.all([
    getTranslations('account'),
    ask(app.agents.listOwn, { query: { limit: '100' } }),
    ask(app.accounts.sessions, { query: { limit: '100' } }),
  ])
  return (
    <Page
      title={t('title', { name: person.name })}
      lead={<p>{t('lead', { agents: agents.total, sessions: sessions.total })}</p>}
    >
      <Section id="me" title={t('me')}>
        <Facts
          facts={[
            [t('email'), person.email],
            [
              t('role'),
              <span key="role">
                {t(`roles.${person.role}.name`)}
                <span className="text-quiet"> · {t(`roles.${person.role}.may`)}</span>
              </span>,
            ],
            [t('organisation'), person.organisation.name],
            [t('id'), <ShortId key="id" id={person.account_id} what={t('id')} />],
          ]}
        />
        <p>
          <ButtonLink href="/account/password" tone="plain">
            {t('changePassword')}
          </ButtonLink>
        </p>
      </Section>
      <Section id="agents" title={t('agents')} lead={t('agentsLead')}>
        <AgentList initial={agents} />
        <ClaimForm />
      </Section>
      <Section id="sessions" title={t('sessions')} lead={t('sessionsLead')}>
        <SessionList initial={sessions} />
      </Section>
    </Page>
  )
}
