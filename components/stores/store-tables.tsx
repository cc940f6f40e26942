'use client'

import { useTranslations } from 'next-intl'
import { useRowKeys } from '#components/frame/row-keys.ts'
import { DataTable, type ShownColumn } from '#components/ui/table.tsx'
import { anotherFolder } from '#lib/domains/stores/rules.ts'
import { JurisdictionTag, LocationCell, listed, RegionCell, StateTag } from './location-words.tsx'
import type { Processor, Store } from './locations.ts'

/** The connected stores: state, location and contents of each. */
export function StoreTable({ stores }: { stores: readonly Store[] }) {
  const t = useTranslations('stores')
  const { cursor } = useRowKeys({ count: stores.length, onOpen: null })
  const columns: ShownColumn<Store>[] = [
    { key: 'store', title: t('list.columns.store'), main: true, cell: (store) => <LocationCell place={store} /> },
    {
      key: 'state',
      title: t('list.columns.state'),
      cell: ({ state, detail }) => (
        <span className="grid justify-items-start gap-0.5">
          <StateTag state={state} />
          {detail !== null && (
            <span className="text-quiet">{detail === anotherFolder ? t('anotherFolder') : detail}</span>
          )}
        </span>
      ),
    },
    {
      key: 'latency',
      title: t('list.columns.latency'),
      numeric: true,
      cell: ({ latency_ms }) =>
        latency_ms === null ? (
          '–'
        ) : (
          <span className="whitespace-nowrap">{t('milliseconds', { count: latency_ms })}</span>
        ),
    },
    { key: 'region', title: t('list.columns.region'), cell: (store) => <RegionCell place={store} /> },
    {
      key: 'jurisdiction',
      title: t('list.columns.jurisdiction'),
      cell: ({ jurisdiction }) => <JurisdictionTag jurisdiction={jurisdiction} />,
    },
    {
      key: 'holds',
      title: t('list.columns.holds'),
      cell: ({ holds, port }) => (
        <span className="grid gap-0.5">
          {listed(
            holds.map((thing) => t(`holds.${thing}`)),
            t('nothing'),
          )}
          {(port === 'graph' || port === 'cache' || port === 'checkpoints') && (
            <span className="text-quiet">{t(`writers.${port}`)}</span>
          )}
        </span>
      ),
    },
  ]
  return (
    <DataTable
      label={t('list.label')}
      rows={stores}
      rowKey={({ name, known_store_id: id }) => id ?? name}
      cursor={cursor}
      columns={columns}
    />
  )
}

/** Processors that receive personal data, and which. */
export function ProcessorTable({ processors }: { processors: readonly Processor[] }) {
  const t = useTranslations('stores')
  if (processors.length === 0) return <p className="text-quiet">{t('travel.none')}</p>
  const columns: ShownColumn<Processor>[] = [
    {
      key: 'processor',
      title: t('travel.columns.processor'),
      main: true,
      cell: (processor) => <LocationCell place={processor} />,
    },
    { key: 'region', title: t('travel.columns.region'), cell: (processor) => <RegionCell place={processor} /> },
    {
      key: 'jurisdiction',
      title: t('travel.columns.jurisdiction'),
      cell: ({ jurisdiction }) => <JurisdictionTag jurisdiction={jurisdiction} />,
    },
    {
      key: 'travels',
      title: t('travel.columns.travels'),
      cell: ({ travels }) =>
        listed(
          travels.map((thing) => t(`travels.${thing}`)),
          t('nothing'),
        ),
    },
  ]
  return <DataTable label={t('travel.label')} rows={processors} rowKey={({ name }) => name} columns={columns} />
}
