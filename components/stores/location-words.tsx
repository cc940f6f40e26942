'use client'

import { useLocale, useTranslations } from 'next-intl'
import { Tag } from '#components/ui/tag.tsx'
import type { Processor, ShownJurisdiction, Store } from './locations.ts'
import { locationKey } from './locations.ts'

/** Display name of a store or processor; the technical name if there is no translation. */
export function useLocationNames(): (name: string) => string {
  const t = useTranslations('stores.names')
  return (name) => {
    const key = locationKey(name)
    return key ? t(key) : name
  }
}

const tones = { ok: 'accent', degraded: 'amber', down: 'red', unchecked: 'plain', off: 'amber' } as const
export function StateTag({ state }: { state: Store['state'] }) {
  const t = useTranslations('stores')
  return (
    <Tag tone={tones[state]} title={state === 'unchecked' ? t('uncheckedWhy') : undefined}>
      {t(`states.${state}`)}
    </Tag>
  )
}

const territoryTones = { eea: 'accent', outside: 'red', unknown: 'amber' } as const
export function JurisdictionTag({ jurisdiction }: { jurisdiction: ShownJurisdiction }) {
  const t = useTranslations('stores.jurisdictions')
  return <Tag tone={territoryTones[jurisdiction]}>{t(jurisdiction)}</Tag>
}

/** Display name of a country in the reader's language. */
export function useCountries(): (code: string) => string {
  const locale = useLocale()
  const names = new Intl.DisplayNames([locale], { type: 'region', fallback: 'code' })
  return (code) => (/^[A-Z]{2}$/.test(code) ? (names.of(code) ?? code) : code)
}

/** The region, its jurisdiction, and how the region is known. */
export function RegionCell({ place }: { place: Store | Processor }) {
  const t = useTranslations('stores')
  const country = useCountries()
  if (place.region === null) return <span className="text-quiet">{t('noRegion')}</span>
  return (
    <span className="grid">
      <span>
        <code className="font-mono text-[0.8125rem]">{place.region}</code>
        {place.host !== null && <span className="text-quiet"> · {place.host}</span>}
        {place.country !== null && <span className="text-quiet"> · {country(place.country)}</span>}
      </span>
      {place.region_source !== null && <span className="text-quiet">{t(`sources.${place.region_source}`)}</span>}
    </span>
  )
}

/** The API uses this name for tables of our own database. */
const ownDatabase = 'this database'
/** The name of a store or processor, its provider and address. */
export function LocationCell({ place }: { place: Store | Processor }) {
  const t = useTranslations('stores')
  const nameOf = useLocationNames()
  return (
    <span className="grid gap-0.5">
      {nameOf(place.name)}
      <span className="font-normal text-quiet">
        {place.provider}
        {' · '}
        {place.address === null ? (
          t('inProcess')
        ) : place.address === ownDatabase ? (
          t('ownDatabase')
        ) : (
          <code className="font-mono text-[0.8125rem]">{place.address}</code>
        )}
      </span>
    </span>
  )
}

/** Joins items that may contain commas. */
export const listed = (things: readonly string[], none: string): string =>
  things.length === 0 ? none : things.join(' · ')
