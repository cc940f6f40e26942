import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { requirePageAccess } from '#app/page-access.ts'
import { ForgottenForm } from '#components/accounts/forgotten-form.tsx'
import { PasswordForm } from '#components/accounts/password-form.tsx'
import { Messages } from '#components/frame/words.tsx'
import { Alert } from '#components/ui/alert.tsx'
import { Page } from '#components/ui/page.tsx'
import { TextLink } from '#components/ui/text-link.tsx'

export const generateMetadata = async (): Promise<Metadata> => ({ title: (await getTranslations('password'))('title') })

export default async function PasswordPage() {
  const [person, t] = await Promise.all([requirePageAccess('password'), getTranslations('password')])
  if (!person.has_password)
    return (
      <Messages of={['password']}>
        <Page width="narrow" title={t('none.title')} lead={<p>{t('none.text', { email: person.email })}</p>}>
          <ForgottenForm email={person.email} />
        </Page>
      </Messages>
    )
  return (
    <Messages of={['password']}>
      <Page
        width="narrow"
        title={t('title')}
        lead={
          <>
            <p>{t('lead')}</p>
            <p>{t.rich('byLink', { link: (words) => <TextLink href="/password/forgotten">{words}</TextLink> })}</p>
          </>
        }
      >
        {person.must_change_password && (
          <Alert tone="warning" title={t('forced.title')}>
            <p>{t('forced.text')}</p>
          </Alert>
        )}
        <PasswordForm email={person.email} isFirst={person.must_change_password} />
      </Page>
    </Messages>
  )
}
