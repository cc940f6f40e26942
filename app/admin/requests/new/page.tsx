import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { Words } from '#components/frame/words.tsx'
import { accountNamed } from '#components/queue/filing.ts'
import { FilingForm } from '#components/queue/filing-form.tsx'
import { Page } from '#components/ui/page.tsx'
import { opened } from '../../../reader.ts'

export const generateMetadata = async (): Promise<Metadata> => ({ title: (await getTranslations('filing'))('name') })

interface Props {
  searchParams: Promise<Record<string, string | string[] | undefined>>
}
export default async function FilingPage({ searchParams }: Props) {
  await opened('filing')
  const about = accountNamed((await searchParams).account_id)
  const t = await getTranslations('filing')
  return (
    <Words of={['queue', 'filing']}>
      <Page title={t('title')} lead={<p>{t('lead')}</p>}>
        <FilingForm key={about ?? ''} about={about} />
      </Page>
    </Words>
  )
}
