import { useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { dataSourceKey, storeKey } from '#components/erasures/store-rows.ts'
import { recognizeReceiptText } from '#lib/kernel/receipt-texts.ts'

/** A text as it is signed. A receipt is signed in English. */
const signedText = (text: string): ReactNode => (
  <span key={text} lang="en">
    {text}
  </span>
)

/** Display name of a store; the technical name if there is no translation. */
export function useStoreNames(): (store: string) => string {
  const t = useTranslations('storeProgress.storeNames')
  return (store) => {
    const key = storeKey(store)
    return key ? t(key) : store
  }
}

const noted = [
  'erasure_owners',
  'knowledge_references',
  'knowledge_votes',
  'privacy_requests',
  'projects_references',
] as const

/** The texts of a receipt in the reader's language. A text without a translation is shown as it is signed. */
export function useReceiptWords() {
  const t = useTranslations('receipt')
  const holders = useTranslations('storeProgress.holders')
  return {
    retained(text: string): ReactNode {
      const found = recognizeReceiptText('retained', text)
      if (!found) return signedText(text)
      const { code, count, hold } = found
      return t(`retained.texts.${code}`, { count, hold })
    },
    ground(text: string): ReactNode {
      const found = recognizeReceiptText('grounds', text)
      return found ? t(`grounds.${found.code}`) : signedText(text)
    },
    physical(text: string): ReactNode {
      const found = recognizeReceiptText('physical', text)
      return found ? t(`physical.texts.${found.code}`) : signedText(text)
    },
    notSearched(text: string): ReactNode {
      const found = recognizeReceiptText('notSearched', text)
      return found ? t(`notSearched.texts.${found.code}`, { count: found.count }) : signedText(text)
    },
    /** The records of a data source, and what remains of them if they are not deleted entirely. */
    records({ holder, what }: { holder: string; what: string }): string {
      const key = dataSourceKey(holder)
      if (!key) return what
      const note = noted.find((one) => one === key)
      return note ? `${holders(key)} (${t(`notes.${note}`)})` : holders(key)
    },
  }
}
