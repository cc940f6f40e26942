'use client'

import { clsx } from 'clsx'
import { ArrowRight, Database } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { useCountries, useLocationNames } from './location-words.tsx'
import { type StoresView, territoriesOf } from './locations.ts'

const looks = { eea: 'border-line', outside: 'border-red/40', unknown: 'border-amber/40' } as const

/** Jurisdictions as boxes with their regions, and the stores and processors in each. */
export function TerritoryMap({ stores, processors }: Pick<StoresView, 'stores' | 'processors'>) {
  const t = useTranslations('stores')
  const nameOf = useLocationNames()
  const country = useCountries()
  return (
    <ul aria-label={t('map.label')} className="grid gap-3 lg:grid-cols-[repeat(auto-fit,minmax(18rem,1fr))]">
      {territoriesOf({ stores, processors }).map(({ jurisdiction, regions }) => (
        <li
          key={jurisdiction}
          className={clsx('grid content-start gap-3 rounded-box border bg-raised p-4', looks[jurisdiction])}
        >
          <h3 className="font-medium">{t(`map.${jurisdiction}`)}</h3>
          <ul className="grid gap-3">
            {regions.map(({ region, country: code, lies, travels }) => (
              <li key={region ?? ''} className="grid gap-1.5 border-t border-line pt-2">
                <p className="text-sm text-quiet">
                  {region === null ? t('noRegion') : <code className="font-mono text-[0.8125rem]">{region}</code>}
                  {code !== null && ` · ${country(code)}`}
                </p>
                <ul className="grid grid-cols-[repeat(auto-fill,minmax(15rem,1fr))] gap-x-4 gap-y-1">
                  {lies.map((store) => (
                    <li key={store.known_store_id ?? store.name} className="flex items-center gap-2">
                      <Database aria-hidden className="size-4 shrink-0 text-accent" />
                      <span className="sr-only">{t('map.lies')}: </span>
                      {nameOf(store.name)}
                      <span className="text-sm text-quiet">
                        {store.provider}
                        {store.state === 'off' && ` · ${t('states.off')}`}
                      </span>
                    </li>
                  ))}
                  {travels.map((processor) => (
                    <li key={processor.name} className="flex items-center gap-2">
                      <ArrowRight aria-hidden className="size-4 shrink-0 text-quiet" />
                      <span className="sr-only">{t('map.travels')}: </span>
                      {nameOf(processor.name)}
                      <span className="text-sm text-quiet">{processor.provider}</span>
                    </li>
                  ))}
                </ul>
              </li>
            ))}
          </ul>
        </li>
      ))}
    </ul>
  )
}
