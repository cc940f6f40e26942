import { useFormatter, useTranslations } from 'next-intl'
import { useReceiptWords } from '#components/receipts/receipt-words.tsx'
import type { Receipt } from '#lib/kernel/receipt.ts'
import { NoticeList } from './notice-list.tsx'
import { retentionTerm } from './retained-rules.ts'

/** What a deletion will retain, as its receipt will list it, with the time for which it is retained. */
export function RetainedList({ retained, now }: Pick<Receipt, 'retained'> & { now: Date }) {
  const t = useTranslations('receipt.retained')
  const howLong = useTranslations('privacy.held')('howLong')
  const words = useReceiptWords()
  const format = useFormatter()
  const termOf = (until: string | null): string => {
    if (until === null) return t('noEnd')
    const { value, unit } = retentionTerm(new Date(until), now)
    return format.number(value, { style: 'unit', unit, unitDisplay: 'long' })
  }
  return (
    <NoticeList
      id="retained-list"
      title={t('title')}
      isTitleHidden
      howLong={howLong}
      entries={retained.map(({ what, ground, until }) => ({
        key: what,
        what: words.retained(what),
        text: words.ground(ground),
        term: termOf(until),
      }))}
    />
  )
}
