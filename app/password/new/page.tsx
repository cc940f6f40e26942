import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { NewPasswordForm } from '#components/accounts/new-password-form.tsx'
import { Messages } from '#components/frame/words.tsx'
import { Page } from '#components/ui/page.tsx'

export const generateMetadata = async (): Promise<Metadata> => ({
  title: (await getTranslations('password.new'))('title'),
  robots: { index: false, follow: false },
  // Requests from this page must not reveal its URL.
  referrer: 'no-referrer',
})

/**
 * Target of the links in invitation and reset emails. The code is in the URL fragment, which browsers never send to a server. Opening the
 * page does not use up the link.
 */
export default async function NewPasswordPage() {
  const t = await getTranslations('password.new')
  return (
    <Messages of={['password']}>
      <Page width="narrow" title={t('title')} lead={<p>{t('lead')}</p>}>
        <NewPasswordForm />
      </Page>
    </Messages>
  )
}
