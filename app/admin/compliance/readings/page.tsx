import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { PlaceList, ReadingStores, SaveAttestation } from '#components/compliance/readings.tsx'
import type { SearchParams } from '#components/frame/query-parsers.ts'
import { Messages } from '#components/frame/words.tsx'
import { FactList } from '#components/ui/facts.tsx'
import { Page } from '#components/ui/page.tsx'
import { Tabs } from '#components/ui/tabs.tsx'
import { Time } from '#components/ui/time.tsx'
import { app } from '#lib/app-instance.ts'

export const generateMetadata = async (): Promise<Metadata> => ({
  title: (await getTranslations('compliance.readings'))('name'),
})

/** The newest complete reading with its attestation, and the places that readings left. */
export default async function ReadingsPage({ searchParams }: { searchParams: Promise<SearchParams> }) {
  const { role } = await requirePageAccess('readings')
  const isUndecided = (await searchParams).decision === 'none'
  const [t, words, readings, places] = await Promise.all([
    getTranslations('compliance.readings'),
    getTranslations('compliance'),
    callUseCase(app.readings.list, { query: { limit: '20' } }),
    callUseCase(app.readings.places, { query: { limit: '100', ...(isUndecided && { decision: 'none' as const }) } }),
  ])
  const [running] = readings.data.filter(({ completed_at }) => completed_at === null)
  const newest = readings.data.find(({ attestation }) => attestation !== null)
  const { attestation } = newest ?? {}
  const shown = running ?? newest
  const tabs = [
    { href: '/admin/compliance/readings', title: t('all'), isCurrent: !isUndecided },
    { href: '/admin/compliance/readings?decision=none', title: t('undecided'), isCurrent: isUndecided },
  ]
  return (
    <Messages of={['compliance']}>
      <Page
        width="wide"
        title={t('name')}
        breadcrumbs={[{ href: '/admin/compliance', title: words('name') }]}
        lead={<p>{t('lead', { days: app.env.KP_SWEEP_DAYS })}</p>}
        actions={attestation ? <SaveAttestation attestation={attestation} /> : undefined}
      >
        <section className="grid gap-3" aria-label={t('newest')}>
          <h2 className="text-lg font-semibold">{t('newest')}</h2>
          {attestation ? (
            <FactList
              facts={[
                [
                  t('period'),
                  t.rich('between', {
                    from: () => <Time at={attestation.started_at} />,
                    until: () => <Time at={attestation.completed_at} />,
                  }),
                ],
                [t('erasures'), t('erasuresText', { found: attestation.erasures_found, all: attestation.erasures })],
              ]}
            />
          ) : (
            <p className="text-quiet">{t('none')}</p>
          )}
          {shown && <ReadingStores reading={shown} />}
        </section>
        <section className="grid gap-3" aria-label={t('places')}>
          <h2 className="text-lg font-semibold">{t('places')}</h2>
          <p className="text-quiet">{t('placesText')}</p>
          <Tabs label={t('places')} tabs={tabs} />
          <PlaceList key={String(isUndecided)} places={places.data} total={places.total} isAdmin={role === 'admin'} />
        </section>
      </Page>
    </Messages>
  )
}
