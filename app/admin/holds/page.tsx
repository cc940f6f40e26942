import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { Messages } from '#components/frame/words.tsx'
import { HoldList } from '#components/holds/hold-list.tsx'
import { holdQuery } from '#components/holds/hold-query.ts'
import { app } from '#lib/app-instance.ts'

export const generateMetadata = async (): Promise<Metadata> => ({ title: (await getTranslations('holds'))('name') })

interface Props {
  searchParams: Promise<Record<string, string | string[] | undefined>>
}
export default async function HoldsPage({ searchParams }: Props) {
  await requirePageAccess('holds')
  const { active, q } = await searchParams
  const asked = holdQuery(active === 'false' ? 'false' : 'true', typeof q === 'string' ? q : null)
  const initial = await callUseCase(app.holds.list, { query: asked })
  return (
    <Messages of={['holds', 'queue']}>
      <HoldList initial={initial} asked={asked} />
    </Messages>
  )
}
