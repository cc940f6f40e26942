import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { Messages } from '#components/frame/words.tsx'
import { FormStatus } from '#components/request-form/form-status.tsx'
import { Page } from '#components/ui/page.tsx'

export const generateMetadata = async (): Promise<Metadata> => ({
  title: (await getTranslations('requestForm.status'))('title'),
  robots: { index: false, follow: false },
  referrer: 'no-referrer',
})

/** The status of a request from the form. The secret is in the URL fragment. */
export default async function RequestStatusPage() {
  const t = await getTranslations('requestForm.status')
  return (
    <Messages of={['requestForm']}>
      <Page width="narrow" title={t('title')}>
        <FormStatus />
      </Page>
    </Messages>
  )
}
