import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { Words } from '#components/frame/words.tsx'
import { RequestList } from '#components/requests/request-list.tsx'
import { Page } from '#components/ui/page.tsx'
import { app } from '#lib/app-instance.ts'
import { ask, opened } from '../../../reader.ts'

export const generateMetadata = async (): Promise<Metadata> => ({ title: (await getTranslations('requests'))('name') })

export default async function OwnRequestsPage() {
  await opened('ownRequests')
  const t = await getTranslations('requests')
  const requests = await ask(app.requests.list, { query: { limit: '50' } })
  const { total } = requests
  const open = requests.data.filter(({ closed_at }) => closed_at === null).length
  return (
    <Words of={['requests']}>
      <Page
        width="wide"
        // The number of open requests is only known when all requests are loaded.
        title={
          total === 0 ? t('titleNone') : requests.next_cursor ? t('titleMany', { total }) : t('title', { total, open })
        }
        lead={<p>{t('lead')}</p>}
      >
        <RequestList initial={requests} />
      </Page>
    </Words>
  )
}
