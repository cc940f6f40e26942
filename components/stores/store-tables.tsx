'use client'

import { useTranslations } from 'next-intl'
import { useRowKeys } from '#components/frame/row-keys.ts'
import { usePunctuation } from '#components/ui/punctuation.ts'
import { DataTable, type ShownColumn } from '#components/ui/table.tsx'
import { anotherFolder } from '#lib/domains/stores/rules.ts'
import { AddressCell, JurisdictionTag, LocationCell, listed, RegionCell, StateTag } from './location-words.tsx'
import type { Processor, Store } from './locations.ts'

/** Region and jurisdiction. Absent while no place has a region: the page then says so once. */
function useRegionColumns<P extends Store | Processor>(places: readonly P[]): ShownColumn<P>[] {
  const t = useTranslations('stores')
  if (places.every(({ region }) => region === null)) return []
  return [
    {
      key: 'region',
      title: t('list.columns.region'),
      minWidth: 'medium',
      value: ({ region }) => region,
      cell: (place) => <RegionCell place={place} />,
    },
    {
      key: 'jurisdiction',
      title: t('list.columns.jurisdiction'),
      value: ({ jurisdiction }) => t(`jurisdictions.${jurisdiction}`),
      cell: ({ jurisdiction }) => <JurisdictionTag jurisdiction={jurisdiction} />,
    },
  ]
}

function StoreState({ store: { state, detail } }: { store: Store }) {
  const t = useTranslations('stores')
  return (
    <span className="grid justify-items-start gap-0.5">
      <StateTag state={state} />
      {detail !== null && <span className="text-quiet">{detail === anotherFolder ? t('anotherFolder') : detail}</span>}
    </span>
  )
}

/** The connected stores: status, location and contents of each. */
export function StoreTable({ stores }: { stores: readonly Store[] }) {
  const t = useTranslations('stores')
  const { close, open } = usePunctuation()
  const { cursor } = useRowKeys({ count: stores.length, onOpen: null })
  const regions = useRegionColumns(stores)
  const contentsOf = ({ holds }: Store) =>
    listed(
      holds.map((thing) => t(`holds.${thing}`)),
      t('nothing'),
    )
  const columns: ShownColumn<Store>[] = [
    {
      key: 'store',
      title: t('list.columns.store'),
      main: true,
      minWidth: 'medium',
      value: ({ name }) => name,
      cell: (store) => <LocationCell place={store} />,
    },
    {
      key: 'state',
      title: t('list.columns.state'),
      minWidth: 'medium',
      value: ({ state }) => t(`states.${state}`),
      cell: (store) => <StoreState store={store} />,
    },
    {
      key: 'latency',
      title: t('list.columns.latency'),
      numeric: true,
      value: ({ latency_ms }) => latency_ms,
      cell: ({ latency_ms }) => (latency_ms === null ? '–' : t('milliseconds', { count: latency_ms })),
    },
    ...regions,
    {
      key: 'holds',
      title: t('list.columns.holds'),
      minWidth: 'long',
      value: contentsOf,
      cell: (store) => (
        <>
          {contentsOf(store)}
          {(store.port === 'graph' || store.port === 'cache' || store.port === 'checkpoints') && (
            <span className="text-quiet">{`${open}${t('writers')}${close}`}</span>
          )}
        </>
      ),
    },
    {
      key: 'address',
      title: t('list.columns.address'),
      isHiddenAtFirst: true,
      value: ({ address }) => address,
      cell: ({ address }) => <AddressCell address={address} />,
    },
  ]
  return (
    <DataTable
      name="stores"
      label={t('list.title')}
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
  const regions = useRegionColumns(processors)
  if (processors.length === 0) return <p className="text-quiet">{t('travel.none')}</p>
  const columns: ShownColumn<Processor>[] = [
    {
      key: 'processor',
      title: t('travel.columns.processor'),
      main: true,
      cell: (processor) => <LocationCell place={processor} />,
    },
    ...regions,
    {
      key: 'travels',
      title: t('travel.columns.travels'),
      cell: ({ travels }) =>
        listed(
          travels.map((thing) => t(`travels.${thing}`)),
          t('nothing'),
        ),
    },
    {
      key: 'address',
      title: t('list.columns.address'),
      cell: ({ address }) => <AddressCell address={address} />,
    },
  ]
  return <DataTable label={t('travel.title')} rows={processors} rowKey={({ name }) => name} columns={columns} />
}
