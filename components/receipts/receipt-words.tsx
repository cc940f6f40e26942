import { useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { recognizeReceiptText } from '#lib/kernel/receipt-texts.ts'

/** A text as it is signed. A receipt is signed in English. */
const signedText = (text: string): ReactNode => (
  <span key={text} lang="en">
    {text}
  </span>
)

/** The texts of a receipt in the reader's language. A text without a translation is shown as it is signed. */
export function useReceiptWords() {
  const t = useTranslations('receipt')
  return {
    retained(text: string): ReactNode {
      const found = recognizeReceiptText('retained', text)
      if (!found) return signedText(text)
      const { code, count, hold, system } = found
      return t(`retained.texts.${code}`, { count, hold, system })
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
  }
}
