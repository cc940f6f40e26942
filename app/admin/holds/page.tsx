import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { countText } from '#components/frame/count-text.ts'
import { Messages } from '#components/frame/words.tsx'
import { HoldList } from '#components/holds/hold-list.tsx'
import { holdQuery } from '#components/holds/hold-query.ts'
import { Page } from '#components/ui/page.tsx'
import { app } from '#lib/app-instance.ts'

export const generateMetadata = async (): Promise<Metadata> => ({ title: (await getTranslations('holds'))('name') })

interface Props {
  searchParams: Promise<Record<string, string | string[] | undefined>>
}
export default async function HoldsPage({ searchParams }: Props) {
  await requirePageAccess('holds')
  const { active, q } = await searchParams
  const asked = holdQuery(active === 'false' ? 'false' : 'true', typeof q === 'string' ? q : null)
  const [t, common, initial, inForce] = await Promise.all([
    getTranslations('holds'),
    getTranslations('common'),
    callUseCase(app.holds.list, { query: asked }),
    callUseCase(app.holds.list, { query: { active: 'true', limit: '1' } }),
  ])
  return (
    <Messages of={['holds', 'queue']}>
      <Page
        width="wide"
        title={t('title', { active: inForce.total, shown: countText(common, inForce.total, { isFirst: true }) })}
        lead={<p>{t('lead')}</p>}
      >
        <HoldList initial={initial} asked={asked} />
      </Page>
    </Messages>
  )
}
