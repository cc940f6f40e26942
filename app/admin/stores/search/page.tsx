import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { requirePageAccess } from '#app/page-access.ts'
import { Messages } from '#components/frame/words.tsx'
import { StoreSearchPage } from '#components/stores/store-search.tsx'
import { Page } from '#components/ui/page.tsx'

export const generateMetadata = async (): Promise<Metadata> => ({
  title: (await getTranslations('storeSearch'))('name'),
})

/** Searches the connected stores for a person. */
export default async function FindPersonPage() {
  await requirePageAccess('storeSearch')
  const [t, stores] = await Promise.all([getTranslations('storeSearch'), getTranslations('stores')])
  return (
    <Messages of={['storeSearch']}>
      <Page
        width="wide"
        title={t('name')}
        breadcrumbs={[{ href: '/admin/stores', title: stores('name') }]}
        lead={
          <>
            <p>{t('lead')}</p>
            <p>{t('leadText')}</p>
          </>
        }
      >
        <StoreSearchPage />
      </Page>
    </Messages>
  )
}
