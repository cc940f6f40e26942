'use client'

import { useLocale, useTranslations } from 'next-intl'
import { Badge } from '#components/ui/badge.tsx'
import { useDataNames } from './data-names.ts'
import type { Processor, ShownJurisdiction, Store } from './locations.ts'

const tones = { ok: 'success', degraded: 'warning', down: 'danger', unchecked: 'neutral', off: 'warning' } as const
export function StateTag({ state }: { state: Store['state'] }) {
  const t = useTranslations('stores')
  return (
    <Badge tone={tones[state]} hasDot title={state === 'unchecked' ? t('uncheckedWhy') : undefined}>
      {t(`states.${state}`)}
    </Badge>
  )
}

const territoryTones = { eea: 'success', outside: 'warning', unknown: 'neutral' } as const
export function JurisdictionTag({ jurisdiction }: { jurisdiction: ShownJurisdiction }) {
  const t = useTranslations('stores.jurisdictions')
  return <Badge tone={territoryTones[jurisdiction]}>{t(jurisdiction)}</Badge>
}

/** Display name of a country in the reader's language. */
function useCountries(): (code: string) => string {
  const locale = useLocale()
  const names = new Intl.DisplayNames([locale], { type: 'region', fallback: 'code' })
  return (code) => (/^[A-Z]{2}$/.test(code) ? (names.of(code) ?? code) : code)
}

/** The region, its country, and how the region is known. */
export function RegionCell({ place }: { place: Store | Processor }) {
  const t = useTranslations('stores')
  const country = useCountries()
  if (place.region === null) return '–'
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
/** The address on one line; hover shows all of it. */
export function AddressCell({ address }: { address: string | null }) {
  const t = useTranslations('stores')
  if (address === null) return t('inProcess')
  if (address === ownDatabase) return t('ownDatabase')
  return (
    <code title={address} className="block max-w-72 truncate font-mono text-[0.8125rem]">
      {address}
    </code>
  )
}

/** The name of a store or processor and its provider. */
export function LocationCell({ place }: { place: Store | Processor }) {
  const names = useDataNames()
  return (
    <>
      {names.place(place.name)}
      <span className="block font-normal text-quiet">{place.provider}</span>
    </>
  )
}

/** Joins items that may contain commas. */
export const listed = (things: readonly string[], none: string): string =>
  things.length === 0 ? none : things.join(' · ')
