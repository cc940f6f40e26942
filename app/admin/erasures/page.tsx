import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { ErasureList } from '#components/erasures/erasure-list.tsx'
import { runStates, stateNamed } from '#components/erasures/places.ts'
import { Words } from '#components/frame/words.tsx'
import { Page } from '#components/ui/page.tsx'
import { Tabs } from '#components/ui/tabs.tsx'
import { app } from '#lib/app.ts'
import { ask, opened } from '../../reader.ts'

export const generateMetadata = async (): Promise<Metadata> => ({ title: (await getTranslations('erasures'))('name') })

interface Props {
  searchParams: Promise<Record<string, string | string[] | undefined>>
}
export default async function ErasuresPage({ searchParams }: Props) {
  await opened('erasures')
  const asked = (await searchParams).state
  const state = stateNamed(typeof asked === 'string' ? asked : undefined)
  const [t, initial] = await Promise.all([
    getTranslations('erasures'),
    ask(app.requests.listErasures, { query: { ...(state && { state }), limit: '50' } }),
  ])
  const { open } = initial
  return (
    <Words of={['erasures']}>
      <Page
        width="wide"
        title={t('title', { running: open.planning + open.erasing + open.verifying, stuck: open.stuck })}
        lead={<p>{t('lead', { held: open.held, failed: open.failed })}</p>}
      >
        <Tabs
          label={t('views.label')}
          tabs={[
            { href: '/admin/erasures', title: t('views.all'), isCurrent: state === undefined },
            ...runStates.map((one) => ({
              href: `/admin/erasures?state=${one}`,
              title: t(`states.${one}`),
              isCurrent: one === state,
              ...(one !== 'done' && { count: open[one] }),
            })),
          ]}
        />
        <ErasureList key={state ?? 'all'} initial={initial} state={state} />
      </Page>
    </Words>
  )
}
