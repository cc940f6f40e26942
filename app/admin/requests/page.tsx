import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { counted } from '#components/frame/counted.ts'
import { Words } from '#components/frame/words.tsx'
import { loadFilters, queryOf } from '#components/queue/filters.ts'
import { RequestQueue } from '#components/queue/request-queue.tsx'
import { ButtonLink } from '#components/ui/button.tsx'
import { Page } from '#components/ui/page.tsx'
import { app } from '#lib/app-instance.ts'
import { ask, opened } from '../../reader.ts'

export const generateMetadata = async (): Promise<Metadata> => ({ title: (await getTranslations('queue'))('name') })

const countOf = async (query: Record<string, string>): Promise<number> =>
  (await ask(app.requests.listAll, { query: { open: 'true', limit: '1', ...query } })).total

interface Props {
  searchParams: Promise<Record<string, string | string[] | undefined>>
}
export default async function RequestsPage({ searchParams }: Props) {
  const person = await opened('requests')
  const asked = queryOf(await loadFilters(searchParams), person.account_id)
  const [t, common, initial, minders, open, overdue, near, unassigned] = await Promise.all([
    getTranslations('queue'),
    getTranslations('common'),
    ask(app.requests.listAll, { query: asked }),
    ask(app.requests.listMinders),
    countOf({}),
    countOf({ due: 'overdue' }),
    countOf({ due: 'near' }),
    countOf({ assignee: 'none' }),
  ])
  return (
    <Words of={['queue']}>
      <Page
        width="wide"
        title={t('title', {
          open,
          openShown: counted(common, open, { isFirst: true }),
          overdue,
          overdueShown: counted(common, overdue),
        })}
        lead={
          <>
            {open > 0 && (
              <p>
                {t('lead', {
                  near,
                  nearShown: counted(common, near),
                  unassigned,
                  unassignedShown: counted(common, unassigned, { isFirst: true }),
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
        <RequestQueue initial={initial} asked={asked} me={person.account_id} minders={minders.data} />
      </Page>
    </Words>
  )
}
