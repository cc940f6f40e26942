import { getTranslations } from 'next-intl/server'
import { groundsIn } from '#components/privacy/inventory-rules.ts'
import { isStore, lineKeyOf } from '#components/privacy/notice-lines.ts'
import en from '#messages/en.ts'
import { heldTerms } from '../../privacy/terms.ts'

/** Texts of the API, in English. */
interface Said {
  what: string
  purpose: string
  kept: string
}
export interface HeldWords {
  what: string
  term: string
  why: string
}

const isExplained = (key: string): key is keyof typeof en.inventory.why => Object.hasOwn(en.inventory.why, key)

/** Translated texts about stored data: data sources, lawful bases and stores. Without a translation, the API's English text is used. */
export async function heldWords() {
  const [t, inventory, privacy, terms] = await Promise.all([
    getTranslations('privacy.held.lines'),
    getTranslations('inventory'),
    getTranslations('privacy.where.stores'),
    heldTerms(),
  ])
  return {
    of(name: string, { what, purpose, kept }: Said): HeldWords {
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
