import { useFormatter, useTranslations } from 'next-intl'
import { useReceiptWords } from '#components/receipts/receipt-words.tsx'
import type { Receipt } from '#lib/kernel/receipt.ts'
import { NoticeList } from './notice-list.tsx'
import { retentionTerm, specialTermOf } from './retained-rules.ts'

/** The classes of data that a deletion will retain, in the order of its receipt, each with its term. */
export function RetainedList({ retained, now }: Pick<Receipt, 'retained'> & { now: Date }) {
  const t = useTranslations('receipt.retained')
  const howLong = useTranslations('privacy.held')('howLong')
  const words = useReceiptWords()
  const format = useFormatter()
  const timeTo = (until: string): string => {
    const { value, unit } = retentionTerm(new Date(until), now)
    return format.number(value, { style: 'unit', unit, unitDisplay: 'long' })
  }
  const termOf = ({ what, until }: Receipt['retained'][number]): string => {
    const time = until === null ? t('noEnd') : timeTo(until)
    const special = specialTermOf(what)
    return special === undefined ? time : t(`terms.${special}`, { time })
  }
  return (
    <NoticeList
      id="retained-list"
      title={t('title')}
      isTitleHidden
      howLong={howLong}
      entries={retained.map((one) => ({
        key: one.what,
        what: words.retained(one.what),
        text: words.ground(one.ground),
        term: termOf(one),
      }))}
    />
  )
}
