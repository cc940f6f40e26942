import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { UnsubscribeForm } from '#components/email-choices/unsubscribe-form.tsx'
import { Messages } from '#components/frame/words.tsx'
import { Page } from '#components/ui/page.tsx'

export const generateMetadata = async (): Promise<Metadata> => ({
  title: (await getTranslations('emails'))('unsubscribe.title'),
  robots: { index: false, follow: false },
  // Requests from this page must not reveal its URL.
  referrer: 'no-referrer',
})

/** Target of the link in emails that can be turned off. Opening the page turns nothing off, because programs open links, too. */
export default async function UnsubscribePage() {
  const t = await getTranslations('emails')
  return (
    <Messages of={['emails']}>
      <Page width="narrow" title={t('unsubscribe.title')}>
        <UnsubscribeForm />
      </Page>
    </Messages>
  )
}
