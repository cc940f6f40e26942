import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { NewPasswordForm } from '#components/accounts/new-password-form.tsx'
import { Words } from '#components/frame/words.tsx'
import { Page } from '#components/ui/page.tsx'

export const generateMetadata = async (): Promise<Metadata> => ({
  title: (await getTranslations('password.new'))('title'),
  robots: { index: false, follow: false },
  // Whatever leads away from here says nothing of where it came from.
  referrer: 'no-referrer',
})

/** Where the links of invitations and resets lead. The code is in the fragment, which no server ever sees; opening the page does nothing. */
export default async function NewPasswordPage() {
  const t = await getTranslations('password.new')
  return (
    <Words of={['password']}>
      <Page width="narrow" title={t('title')} lead={<p>{t('lead')}</p>}>
        <NewPasswordForm />
      </Page>
    </Words>
  )
}
