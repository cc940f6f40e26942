import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { PasswordForm } from '#components/accounts/password-form.tsx'
import { Alert } from '#components/ui/alert.tsx'
import { Page } from '#components/ui/page.tsx'
import { signedIn } from '../../reader.ts'

export const generateMetadata = async (): Promise<Metadata> => ({ title: (await getTranslations('password'))('title') })

export default async function PasswordPage() {
  const [person, t] = await Promise.all([signedIn('/account/password'), getTranslations('password')])
  return (
    <Page width="narrow" title={t('title')} lead={<p>{t('lead')}</p>}>
      {person.must_change_password && (
        <Alert tone="warning" title={t('forced.title')}>
          <p>{t('forced.text')}</p>
        </Alert>
      )}
      <PasswordForm email={person.email} />
    </Page>
  )
}
