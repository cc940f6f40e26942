import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { Messages } from '#components/frame/words.tsx'
import { FirstRun } from '#components/home/first-run.tsx'
import { Page } from '#components/ui/page.tsx'
import { app } from '#lib/app-instance.ts'

export const generateMetadata = async (): Promise<Metadata> => ({ title: (await getTranslations('pages'))('welcome') })

/** The first run: connect an agent or load sample data, see the first contribution, delete it, and verify the receipt. */
export default async function WelcomePage() {
  await requirePageAccess('welcome')
  const [t, agents, notice] = await Promise.all([
    getTranslations('welcome'),
    callUseCase(app.agents.listOwn, { query: { limit: '20' } }),
    callUseCase(app.agents.readNotice),
  ])
  return (
    <Messages of={['welcome']}>
      <Page title={t('title')} lead={<p>{t('lead')}</p>}>
        <FirstRun initial={agents} policyVersion={notice.data.version} origin={new URL(notice.data.url).origin} />
      </Page>
    </Messages>
  )
}
