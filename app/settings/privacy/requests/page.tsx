import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { Messages } from '#components/frame/words.tsx'
import { OwnRequestList } from '#components/requests/request-list.tsx'
import { Page } from '#components/ui/page.tsx'
import { app } from '#lib/app-instance.ts'

export const generateMetadata = async (): Promise<Metadata> => ({ title: (await getTranslations('requests'))('name') })

export default async function OwnRequestsPage() {
  await requirePageAccess('ownRequests')
  const t = await getTranslations('requests')
  const requests = await callUseCase(app.requests.list, { query: { limit: '50' } })
  const { total } = requests
  const open = requests.data.filter(({ closed_at }) => closed_at === null).length
  return (
    <Messages of={['requests']}>
      <Page
        width="wide"
        // The number of open requests is only known when all requests are loaded.
        title={
          total === 0 ? t('titleNone') : requests.next_cursor ? t('titleMany', { total }) : t('title', { total, open })
        }
        lead={<p>{t('lead')}</p>}
      >
        <OwnRequestList initial={requests} />
      </Page>
    </Messages>
  )
}
