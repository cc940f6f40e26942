import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { DeletionLog } from '#components/erasures/deletion-log.tsx'
import { deletionQueryOf, loadDeletionFilters } from '#components/erasures/deletion-log-query.ts'
import { Messages } from '#components/frame/words.tsx'
import { app } from '#lib/app-instance.ts'

export const generateMetadata = async (): Promise<Metadata> => ({
  title: (await getTranslations('deletionLog'))('name'),
})

interface Props {
  searchParams: Promise<Record<string, string | string[] | undefined>>
}
export default async function DeletionLogPage({ searchParams }: Props) {
  await requirePageAccess('deletionLog')
  const query = deletionQueryOf(await loadDeletionFilters(searchParams))
  const initial = await callUseCase(app.receipts.deletions, { query })
  return (
    <Messages of={['deletionLog', 'dataNames']}>
      <DeletionLog initial={initial} initialQuery={query} />
    </Messages>
  )
}
