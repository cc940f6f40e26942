import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { Words } from '#components/frame/words.tsx'
import { FilingForm } from '#components/queue/filing-form.tsx'
import { Page } from '#components/ui/page.tsx'
import { opened } from '../../../reader.ts'

export const generateMetadata = async (): Promise<Metadata> => ({ title: (await getTranslations('filing'))('name') })

export default async function FilingPage() {
  await opened('filing')
  const t = await getTranslations('filing')
  return (
    <Words of={['queue', 'filing']}>
      <Page title={t('title')} lead={<p>{t('lead')}</p>}>
        <FilingForm />
      </Page>
    </Words>
  )
}
