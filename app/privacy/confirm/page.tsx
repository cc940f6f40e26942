import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { Words } from '#components/frame/words.tsx'
import { LinkConfirmation } from '#components/privacy/link-confirmation.tsx'
import { Page } from '#components/ui/page.tsx'

export const generateMetadata = async (): Promise<Metadata> => ({
  title: (await getTranslations('confirm'))('title'),
  robots: { index: false, follow: false },
  // Whatever leads away from here says nothing of where it came from.
  referrer: 'no-referrer',
})

/** Where the links of letters lead. The secret is in the fragment, which no server ever sees; opening the page does nothing. */
export default async function ConfirmPage() {
  const t = await getTranslations('confirm')
  return (
    <Page width="narrow" title={t('title')}>
      <Words of={['confirm']}>
        <LinkConfirmation />
      </Words>
    </Page>
  )
}
