import type { Metadata } from 'next'
import { getFormatter, getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { Messages } from '#components/frame/words.tsx'
import { locationCountsOf, locationKey } from '#components/stores/locations.ts'
import { Namespaces } from '#components/stores/namespaces.tsx'
import { ProcessorTable, StoreTable } from '#components/stores/store-tables.tsx'
import { SwitchedOff } from '#components/stores/switched-off.tsx'
import { TerritoryMap } from '#components/stores/territory-map.tsx'
import { Alert } from '#components/ui/alert.tsx'
import { Page, Section } from '#components/ui/page.tsx'
import { RetryButton } from '#components/ui/retry-button.tsx'
import { ShortId } from '#components/ui/short-id.tsx'
import { app } from '#lib/app-instance.ts'

export const generateMetadata = async (): Promise<Metadata> => ({ title: (await getTranslations('stores'))('name') })

export default async function StoresPage() {
  const { role } = await requirePageAccess('stores')
  const [t, format, { data }, organisations] = await Promise.all([
    getTranslations('stores'),
    getFormatter(),
    callUseCase(app.residency.list),
    role === 'admin' ? callUseCase(app.accounts.organisations) : undefined,
  ])
  const { residency, stores, processors, projects_outside: away, agents_outside: awayAgents } = data
  const counts = locationCountsOf(data)
  const connected = stores.filter(({ is_connected }) => is_connected)
  const off = stores.filter(({ is_connected }) => !is_connected)
  const namesOf = (jurisdiction: 'outside' | 'unknown') =>
    format.list(
      [...stores, ...processors]
        .filter((place) => place.jurisdiction === jurisdiction)
        .map(({ name, provider }) => {
          const key = locationKey(name)
          return `${key ? t(`names.${key}`) : name} (${provider})`
        }),
    )
  return (
    <Messages of={['stores']}>
      <Page
        width="wide"
        title={t('title', { ...counts })}
        lead={
          <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
            <p>{t('lead')}</p>
            <RetryButton label={t('again')} asking={t('asking')} />
          </div>
        }
      >
        {counts.down + counts.off > 0 && (
          <Alert tone="warning" title={t('troubled.title', { down: counts.down, off: counts.off })}>
            <p>{t('troubled.text')}</p>
          </Alert>
        )}
        {away.total > 0 && (
          <Alert tone="danger" title={t('away.title', { count: away.total })}>
            <p>{t('away.text')}</p>
            <ul className="flex flex-wrap gap-x-4 gap-y-1">
              {away.project_ids.map((id) => (
                <li key={id}>
                  <ShortId id={id} what={t('away.id')} />
                </li>
              ))}
            </ul>
          </Alert>
        )}
        {awayAgents.total > 0 && (
          <Alert tone="danger" title={t('awayAgents.title', { count: awayAgents.total })}>
            <p>{t('awayAgents.text')}</p>
            <ul className="flex flex-wrap gap-x-4 gap-y-1">
              {awayAgents.agent_ids.map((id) => (
                <li key={id}>
                  <ShortId id={id} what={t('awayAgents.id')} />
                </li>
              ))}
            </ul>
          </Alert>
        )}
        <Section id="map" title={t('map.title')}>
          <TerritoryMap stores={stores} processors={processors} />
        </Section>
        <Section id="residency" title={t('residency.title')}>
          <div className="grid gap-2">
            <p>{t(`residency.${residency ?? 'none'}`)}</p>
            {counts.outside > 0 && <p>{t('residency.outside', { names: namesOf('outside') })}</p>}
            {counts.unknown > 0 && <p>{t('residency.unknown', { names: namesOf('unknown') })}</p>}
            <p className="text-quiet">{t('residency.judged')}</p>
          </div>
        </Section>
        <Section id="stores" title={t('list.title')}>
          <StoreTable stores={connected} />
        </Section>
        {off.length > 0 && (
          <Section id="off" title={t('off.title')} lead={t('off.lead')}>
            <SwitchedOff stores={off} isAdmin={role === 'admin'} />
          </Section>
        )}
        {organisations && (
          <Section id="namespaces" title={t('namespaces.title')} lead={t('namespaces.lead')}>
            <Namespaces initial={organisations} />
          </Section>
        )}
        <Section id="processors" title={t('travel.title')} lead={t('travel.lead')}>
          <ProcessorTable processors={processors} />
        </Section>
      </Page>
    </Messages>
  )
}
