import { getTranslations } from 'next-intl/server'
import { storeDescriptions, whereabouts } from '#app/privacy/places.ts'
import { inventoryTerms } from '#app/privacy/terms.ts'
import { groundsIn } from '#components/privacy/inventory-rules.ts'
import { lineKeyOf } from '#components/privacy/notice-lines.ts'
import { purposes } from '#components/privacy/purposes.ts'
import { dataNamesIn } from '#components/stores/data-names.ts'

/** Texts of the API, in English. */
interface DataSourceTexts {
  what: string
  purpose: string
  kept: string
}
export interface InventoryTexts {
  what: string
  /** What it contains; empty without a translation. */
  contains: string
  term: string
  why: string
}

/** Translated texts about stored data: data sources, lawful bases and stores. Without a translation, the API's English text is used. */
export async function inventoryTexts() {
  const [t, names, inventory, terms, storeText, at] = await Promise.all([
    getTranslations('privacy.held.lines'),
    getTranslations('dataNames').then(dataNamesIn),
    getTranslations('inventory'),
    inventoryTerms(),
    storeDescriptions(),
    whereabouts(),
  ])
  return {
    of(name: string, { what, purpose, kept }: DataSourceTexts): InventoryTexts {
      const key = lineKeyOf(name)
      const known = key && purposes.get(key)
      if (key === undefined || known === undefined) return { what, contains: '', term: kept, why: purpose }
      return {
        what: names.records(name),
        contains: t(`${key}.text`),
        term: t(`${key}.term`, terms),
        why: inventory(`purposes.${known}`),
      }
    },
    ground(basis: string): string {
      const grounds = groundsIn(basis).map((ground) => inventory(`bases.${ground}`))
      return grounds.length > 0 ? grounds.join(', ') : basis
    },
    store: names.place,
    /** Where the store is: what it runs on, and the region if the operator stated it. */
    place: (store: string): string => `${storeText(store)} ${at(store)}`.trim(),
  }
}
