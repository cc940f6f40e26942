import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { countText } from '#components/frame/count-text.ts'
import { Messages } from '#components/frame/words.tsx'
import { loadQueueFilters, queueQueryOf } from '#components/queue/filters.ts'
import { RequestQueue } from '#components/queue/request-queue.tsx'
import { ButtonLink } from '#components/ui/button.tsx'
import { Page } from '#components/ui/page.tsx'
import { app } from '#lib/app-instance.ts'

export const generateMetadata = async (): Promise<Metadata> => ({ title: (await getTranslations('queue'))('name') })

const countOf = async (query: Record<string, string>): Promise<number> =>
  (await callUseCase(app.requests.listAll, { query: { open: 'true', limit: '1', ...query } })).total

interface Props {
  searchParams: Promise<Record<string, string | string[] | undefined>>
}
export default async function RequestsPage({ searchParams }: Props) {
  const person = await requirePageAccess('requests')
  const initialFilters = queueQueryOf(await loadQueueFilters(searchParams), person.account_id)
  const [t, common, initial, minders, open, overdue, near, unassigned] = await Promise.all([
    getTranslations('queue'),
    getTranslations('common'),
    callUseCase(app.requests.listAll, { query: initialFilters }),
    callUseCase(app.requests.listMinders),
    countOf({}),
    countOf({ due: 'overdue' }),
    countOf({ due: 'near' }),
    countOf({ assignee: 'none' }),
  ])
  return (
    <Messages of={['queue']}>
      <Page
        width="wide"
        title={t('title', {
          open,
          openShown: countText(common, open, { isFirst: true }),
          overdue,
          overdueShown: countText(common, overdue),
        })}
        lead={
          <>
            {open > 0 && (
              <p>
                {t('lead', {
                  near,
                  nearShown: countText(common, near),
                  unassigned,
                  unassignedShown: countText(common, unassigned, { isFirst: true }),
                })}
              </p>
            )}
            <p>
              <ButtonLink href="/admin/requests/new" tone="plain" size="small">
                {t('file')}
              </ButtonLink>
            </p>
          </>
        }
      >
        <RequestQueue initial={initial} initialFilters={initialFilters} me={person.account_id} minders={minders.data} />
      </Page>
    </Messages>
  )
}
