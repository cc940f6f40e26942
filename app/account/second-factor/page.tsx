import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import type { ReactNode } from 'react'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { Messages } from '#components/frame/words.tsx'
import { RequiredFactor } from '#components/second-factors/required-factor.tsx'
import { Alert } from '#components/ui/alert.tsx'
import { Page, Section } from '#components/ui/page.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import { app } from '#lib/app-instance.ts'
import type { AccountView } from '#lib/domains/accounts/contract.ts'

export const generateMetadata = async (): Promise<Metadata> => ({
  title: (await getTranslations('secondFactors'))('required.title'),
})

async function RequirementNote({ second_factor: { is_missing: isMissing, required_from: from } }: AccountView) {
  const t = await getTranslations('secondFactors.required')
  if (from === null)
    return (
      <Alert tone="done" title={t('met')}>
        <p>{t('metText')}</p>
      </Alert>
    )
  return (
    <Alert tone="warning" title={t(isMissing ? 'missing' : 'ahead')}>
      <p>{t.rich(isMissing ? 'missingText' : 'aheadText', { time: () => <Time at={from} /> })}</p>
    </Alert>
  )
}

export default async function SecondFactorPage() {
  const person = await requirePageAccess('secondFactor')
  const [t, factors] = await Promise.all([getTranslations('secondFactors.required'), callUseCase(app.accounts.factors)])
  const link = (href: string) => (words: ReactNode) => <TextLink href={href}>{words}</TextLink>
  // The identity provider asked for one factor. A factor of the account does not change such a session.
  const isProviders = person.second_factor.is_missing && (!person.has_password || factors.data.factors.length > 0)
  return (
    <Messages of={['secondFactors']}>
      <Page title={t('title')}>
        <RequirementNote {...person} />
        <Section id="factors" title={t('add')}>
          {isProviders ? <p>{t(person.has_password ? 'otherSignIn' : 'provider')}</p> : null}
          {person.has_password ? <RequiredFactor initial={factors.data} isEnough={!isProviders} /> : null}
        </Section>
        <Section id="rights" title={t('rights')}>
          <p>
            {t.rich('rightsText', {
              data: link('/settings/privacy'),
              requests: link('/settings/privacy/requests'),
              receipts: link('/settings/privacy/receipts'),
            })}
          </p>
        </Section>
      </Page>
    </Messages>
  )
}
