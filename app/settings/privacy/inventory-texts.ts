import { getTranslations } from 'next-intl/server'
import { inventoryTerms } from '#app/privacy/terms.ts'
import { groundsIn } from '#components/privacy/inventory-rules.ts'
import { isStore, lineKeyOf } from '#components/privacy/notice-lines.ts'
import en from '#messages/en.ts'

/** Texts of the API, in English. */
interface DataSourceTexts {
  what: string
  purpose: string
  kept: string
}
export interface InventoryTexts {
  what: string
  term: string
  why: string
}

const isExplained = (key: string): key is keyof typeof en.inventory.why => Object.hasOwn(en.inventory.why, key)

/** Translated texts about stored data: data sources, lawful bases and stores. Without a translation, the API's English text is used. */
export async function inventoryTexts() {
  const [t, inventory, privacy, terms] = await Promise.all([
    getTranslations('privacy.held.lines'),
    getTranslations('inventory'),
    getTranslations('privacy.where.stores'),
    inventoryTerms(),
  ])
  return {
    of(name: string, { what, purpose, kept }: DataSourceTexts): InventoryTexts {
      const key = lineKeyOf(name)
      if (key === undefined) return { what, term: kept, why: purpose }
      return {
        what: t(`${key}.what`),
        term: t(`${key}.term`, terms),
        why: isExplained(key) ? inventory(`why.${key}`) : purpose,
      }
    },
    ground(basis: string): string {
      const grounds = groundsIn(basis).map((ground) => inventory(`bases.${ground}`))
      return grounds.length > 0 ? grounds.join(', ') : basis
    },
    store: (name: string): string => (isStore(name) ? privacy(`${name}.name`) : name),
  }
}
