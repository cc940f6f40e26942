import type { Metadata } from 'next'
import { getFormatter, getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { Messages } from '#components/frame/words.tsx'
import { loadQueueFilters, queueQueryOf } from '#components/queue/filters.ts'
import { queueTiles } from '#components/queue/queue-tiles.ts'
import { RequestQueue } from '#components/queue/request-queue.tsx'
import { UnconfirmedList } from '#components/queue/unconfirmed-list.tsx'
import { ButtonLink } from '#components/ui/button.tsx'
import { Page } from '#components/ui/page.tsx'
import { StatTiles } from '#components/ui/stat-tiles.tsx'
import { app } from '#lib/app-instance.ts'

export const generateMetadata = async (): Promise<Metadata> => ({ title: (await getTranslations('queue'))('name') })

interface Props {
  searchParams: Promise<Record<string, string | string[] | undefined>>
}
export default async function RequestsPage({ searchParams }: Props) {
  const person = await requirePageAccess('requests')
  const initialFilters = queueQueryOf(await loadQueueFilters(searchParams), person.account_id)
  const [t, stats, format, initial, minders, statistics, unconfirmed] = await Promise.all([
    getTranslations('queue'),
    getTranslations('queue.stats'),
    getFormatter(),
    callUseCase(app.requests.listAll, { query: initialFilters }),
    callUseCase(app.requests.listMinders),
    app.requests.statistics(app.pipeline.clock.now()),
    callUseCase(app.requests.unconfirmed),
  ])
  return (
    <Messages of={['queue', 'causes', 'storeProgress', 'dataNames']}>
      <Page
        width="wide"
        title={t('name')}
        actions={
          <>
            <ButtonLink href="/admin/requests/form" tone="plain">
              {t('form')}
            </ButtonLink>
            <ButtonLink href="/admin/requests/new">{t('new')}</ButtonLink>
          </>
        }
      >
        <StatTiles tiles={queueTiles(stats, format, statistics)} />
        <UnconfirmedList requests={unconfirmed.data} />
        <RequestQueue initial={initial} initialFilters={initialFilters} me={person.account_id} minders={minders.data} />
      </Page>
    </Messages>
  )
}
