import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { Messages } from '#components/frame/words.tsx'
import { LinkConfirmation } from '#components/privacy/link-confirmation.tsx'
import { Page } from '#components/ui/page.tsx'

export const generateMetadata = async (): Promise<Metadata> => ({
  title: (await getTranslations('confirm'))('title'),
  robots: { index: false, follow: false },
  // Requests from this page must not reveal its URL.
  referrer: 'no-referrer',
})

/**
 * Target of the links in emails. The secret is in the URL fragment, which browsers never send to a server. Opening the page does not use
 * up the link.
 */
export default async function ConfirmPage() {
  const t = await getTranslations('confirm')
  return (
    <Page width="narrow" title={t('title')}>
      <Messages of={['confirm']}>
        <LinkConfirmation />
      </Messages>
    </Page>
  )
}
