import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { ErasureList } from '#components/erasures/erasure-list.tsx'
import { erasureQueryOf, loadErasureFilters } from '#components/erasures/filters.ts'
import { Messages } from '#components/frame/words.tsx'
import { app } from '#lib/app-instance.ts'

export const generateMetadata = async (): Promise<Metadata> => ({ title: (await getTranslations('erasures'))('name') })

interface Props {
  searchParams: Promise<Record<string, string | string[] | undefined>>
}
export default async function ErasuresPage({ searchParams }: Props) {
  await requirePageAccess('erasures')
  const query = erasureQueryOf(await loadErasureFilters(searchParams))
  const initial = await callUseCase(app.requests.listErasures, { query })
  return (
    <Messages of={['erasures', 'causes', 'storeProgress', 'dataNames']}>
      <ErasureList initial={initial} initialQuery={query} />
    </Messages>
  )
}
