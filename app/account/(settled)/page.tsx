import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { IdentityList } from '#components/accounts/identity-list.tsx'
import { SessionList } from '#components/accounts/session-list.tsx'
import { EmailChoiceList } from '#components/email-choices/choice-list.tsx'
import { Messages } from '#components/frame/words.tsx'
import { FactorList } from '#components/second-factors/factor-list.tsx'
import { Badge } from '#components/ui/badge.tsx'
import { ButtonLink } from '#components/ui/button.tsx'
import { CopyableId } from '#components/ui/copyable-id.tsx'
import { FactList } from '#components/ui/facts.tsx'
import { Page, Section } from '#components/ui/page.tsx'
import { Time } from '#components/ui/time.tsx'
import { app } from '#lib/app-instance.ts'

export const generateMetadata = async (): Promise<Metadata> => ({ title: (await getTranslations('account'))('name') })

export default async function AccountPage() {
  const person = await requirePageAccess('account')
  const [t, roleNames, may, ofFactors, ofEmails, sessions, identities, factors, emails] = await Promise.all([
    getTranslations('account'),
    getTranslations('roles.names'),
    getTranslations('roles.may'),
    getTranslations('secondFactors'),
    getTranslations('emails'),
    callUseCase(app.accounts.sessions, { query: { limit: '100' } }),
    callUseCase(app.accounts.identities),
    callUseCase(app.accounts.factors),
    callUseCase(app.accounts.emailChoices),
  ])
  const isLinked = identities.data.length > 0
  const way = person.has_password ? (isLinked ? 'both' : 'password') : 'identity'
  return (
    <Messages of={['account', 'emails', 'secondFactors', 'sessions']}>
      <Page title={t('name')} status={<Badge>{roleNames(person.role)}</Badge>} summary={<p>{person.name}</p>}>
        <Section id="me" title={t('me')}>
          <FactList
            facts={[
              [t('email'), person.email],
              [
                t('role'),
                <span key="role">
                  {roleNames(person.role)}
                  <span className="text-quiet"> · {may(person.role)}</span>
                </span>,
              ],
              [t('organisation'), person.organisation.name],
              [t('since'), <Time key="since" at={person.created_at} isDay />],
              [t('id'), <CopyableId key="id" id={person.account_id} what={t('id')} />],
            ]}
          />
        </Section>
        <Section id="sign-in" title={t('signIn')} lead={t('signInLead', { way })}>
          {isLinked && <IdentityList identities={identities.data} hasPassword={person.has_password} />}
          <p>
            <ButtonLink href="/account/password" tone="plain">
              {t(person.has_password ? 'changePassword' : 'setPassword')}
            </ButtonLink>
          </p>
        </Section>
        {person.has_password && (
          <Section id="factors" title={ofFactors('title')}>
            <FactorList initial={factors.data} />
          </Section>
        )}
        <Section id="emails" title={ofEmails('title')}>
          <EmailChoiceList initial={emails} />
        </Section>
        <Section id="sessions" title={t('sessions')} lead={t('sessionsLead')}>
          <SessionList initial={sessions} />
        </Section>
      </Page>
    </Messages>
  )
}
