import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { countText } from '#components/frame/count-text.ts'
import { Messages } from '#components/frame/words.tsx'
import { NewRequestMenu } from '#components/requests/new-request-menu.tsx'
import { OwnRequestList } from '#components/requests/request-list.tsx'
import { Page } from '#components/ui/page.tsx'
import { app } from '#lib/app-instance.ts'
import { namesOfAgents } from './agent-names.ts'

export const generateMetadata = async (): Promise<Metadata> => ({ title: (await getTranslations('requests'))('name') })

export default async function OwnRequestsPage() {
  await requirePageAccess('ownRequests')
  const [t, common, requests] = await Promise.all([
    getTranslations('requests'),
    getTranslations('common'),
    callUseCase(app.requests.list, { query: { limit: '50' } }),
  ])
  const agentNames = await namesOfAgents(requests.data.map(({ agent_id }) => agent_id))
  const open = requests.data.filter(({ closed_at }) => closed_at === null).length
  return (
    <Messages of={['requests']}>
      <Page
        width="wide"
        title={t('name')}
        count={countText(common, requests.total)}
        // The number of open requests is only known when all requests are loaded.
        summary={!requests.next_cursor && open > 0 && <p>{t('open', { open })}</p>}
        actions={<NewRequestMenu />}
      >
        <OwnRequestList initial={requests} agentNames={agentNames} />
      </Page>
    </Messages>
  )
}
