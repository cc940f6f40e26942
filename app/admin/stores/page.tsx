import type { Metadata } from 'next'
import { getLocale, getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { Messages } from '#components/frame/words.tsx'
import { dataNamesIn } from '#components/stores/data-names.ts'
import { locationCountsOf } from '#components/stores/locations.ts'
import { Namespaces } from '#components/stores/namespaces.tsx'
import { ProcessorTable, StoreTable } from '#components/stores/store-tables.tsx'
import { SwitchedOff } from '#components/stores/switched-off.tsx'
import { UnavailableRegions } from '#components/stores/unavailable-regions.tsx'
import { Alert } from '#components/ui/alert.tsx'
import { Page, Section } from '#components/ui/page.tsx'
import { punctuationOf } from '#components/ui/punctuation.ts'
import { RetryButton } from '#components/ui/retry-button.tsx'
import { StatTiles } from '#components/ui/stat-tiles.tsx'
import { app } from '#lib/app-instance.ts'

export const generateMetadata = async (): Promise<Metadata> => ({ title: (await getTranslations('stores'))('name') })

export default async function StoresPage() {
  const { role } = await requirePageAccess('stores')
  const { list } = punctuationOf(await getLocale())
  const [t, names, { data }, organisations] = await Promise.all([
    getTranslations('stores'),
    getTranslations('dataNames').then(dataNamesIn),
    callUseCase(app.residency.list),
    role === 'admin' ? callUseCase(app.accounts.organisations) : undefined,
  ])
  const { residency, stores, processors, projects_outside: away, agents_outside: awayAgents } = data
  const counts = locationCountsOf(data)
  const off = stores.filter(({ is_connected }) => !is_connected)
  const unset = [...stores, ...processors].filter(({ region }) => region === null).map(({ name }) => names.place(name))
  return (
    <Messages of={['stores', 'dataNames']}>
      <Page
        width="wide"
        title={t('name')}
        summary={t('lead', { residency: residency ?? 'none' })}
        actions={<RetryButton label={t('again')} asking={t('asking')} />}
      >
        <StatTiles
          tiles={[
            { label: t('tiles.stores'), value: counts.stores },
            { label: t('tiles.processors'), value: counts.processors, href: '#processors' },
            { label: t('tiles.eea'), value: counts.eea },
            {
              label: t('tiles.outside'),
              value: counts.outside,
              ...(counts.outside > 0 && { tone: 'warning' as const }),
            },
            {
              label: t('tiles.unknown'),
              value: unset.length,
              ...(unset.length > 0 && { tone: 'warning' as const }),
            },
          ]}
        />
        {counts.down + counts.off > 0 && (
          <Alert tone="warning" title={t('troubled.title', { down: counts.down, off: counts.off })}>
            <p>{t('troubled.text')}</p>
          </Alert>
        )}
        {unset.length > 0 && (
          <Alert title={t('unset.title', { names: list([...new Set(unset)]) })}>
            <p>{t('unset.text')}</p>
          </Alert>
        )}
        <UnavailableRegions of="away" total={away.total} ids={away.project_ids} />
        <UnavailableRegions of="awayAgents" total={awayAgents.total} ids={awayAgents.agent_ids} />
        <Section id="stores" title={t('list.title')}>
          <StoreTable stores={stores.filter(({ is_connected }) => is_connected)} />
        </Section>
        {off.length > 0 && (
          <Section id="off" title={t('off.title')} lead={t('off.lead')}>
            <SwitchedOff stores={off} isAdmin={role === 'admin'} />
          </Section>
        )}
        <Section id="processors" title={t('travel.title')} lead={t('travel.lead')}>
          <ProcessorTable processors={processors} />
        </Section>
        {organisations && (
          <Section id="namespaces" title={t('namespaces.title')} lead={t('namespaces.lead')}>
            <Namespaces initial={organisations} />
          </Section>
        )}
      </Page>
    </Messages>
  )
}
