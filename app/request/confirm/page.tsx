import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { Messages } from '#components/frame/words.tsx'
import { FormConfirmation } from '#components/request-form/form-confirmation.tsx'
import { Page } from '#components/ui/page.tsx'

export const generateMetadata = async (): Promise<Metadata> => ({
  title: (await getTranslations('requestForm.confirm'))('title'),
  robots: { index: false, follow: false },
  referrer: 'no-referrer',
})

/** Target of the link in the first email. The secret is in the URL fragment. */
export default async function RequestConfirmPage() {
  const t = await getTranslations('requestForm.confirm')
  return (
    <Messages of={['requestForm']}>
      <Page width="narrow" title={t('title')}>
        <FormConfirmation />
      </Page>
    </Messages>
  )
}
