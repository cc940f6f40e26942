import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { requirePageAccess } from '#app/page-access.ts'
import { Messages } from '#components/frame/words.tsx'
import { accountNamed } from '#components/queue/filing.ts'
import { QueueFilingForm } from '#components/queue/filing-form.tsx'
import { Page } from '#components/ui/page.tsx'

export const generateMetadata = async (): Promise<Metadata> => ({ title: (await getTranslations('filing'))('name') })

interface Props {
  searchParams: Promise<Record<string, string | string[] | undefined>>
}
export default async function FilingPage({ searchParams }: Props) {
  await requirePageAccess('filing')
  const about = accountNamed((await searchParams).account_id)
  const [t, queue] = await Promise.all([getTranslations('filing'), getTranslations('queue')])
  return (
    <Messages of={['queue', 'filing']}>
      <Page
        title={t('name')}
        breadcrumbs={[{ href: '/admin/requests', title: queue('name') }]}
        lead={<p>{t('lead')}</p>}
      >
        <QueueFilingForm key={about ?? ''} about={about} />
      </Page>
    </Messages>
  )
}
