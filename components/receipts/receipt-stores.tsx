import { useFormatter, useTranslations } from 'next-intl'
import { useDataNames } from '#components/stores/data-names.ts'
import { Section } from '#components/ui/page.tsx'
import { Time } from '#components/ui/time.tsx'
import type { Receipt } from '#lib/kernel/receipt.ts'
import { Folded } from './folded.tsx'
import { ReceiptTable } from './receipt-table.tsx'
import { isEmpty, recordCounts, type StoreTotal, storeTotals } from './store-totals.ts'

/** The columns of counts; pseudonymized records only if there are any. */
const shownCounts = (rows: readonly StoreTotal[]) =>
  (['found', 'deleted', 'pseudonymized', 'left'] as const).filter(
    (key) => key !== 'pseudonymized' || rows.some(({ pseudonymized }) => pseudonymized > 0),
  )

/** Each record type with records, in the reader's language. */
export function RecordTypes({ stores }: Pick<Receipt, 'stores'>) {
  const t = useTranslations('receipt')
  const names = useDataNames()
  const format = useFormatter()
  const counted = stores.map((one) => ({ ...one, ...recordCounts(one) }))
  const filled = counted.filter((one) => !isEmpty(one))
  const empty = counted.filter(isEmpty).map((one) => names.erasedRecords(one.holder, one.what))
  const counts = shownCounts(filled)
  return (
    <Folded title={t('byType')}>
      <ReceiptTable
        columns={[t('store'), t('what'), ...counts.map((key) => t(key)), t('checkedAt')]}
        rows={filled.map((one) => ({
          key: one.holder,
          cells: [
            names.place(one.store),
            names.erasedRecords(one.holder, one.what),
            ...counts.map((key) => one[key]),
            <Time key="at" at={one.verified_at} />,
          ],
        }))}
      />
      {empty.length > 0 && <p className="text-sm text-quiet">{t('emptyStores', { list: format.list(empty) })}</p>}
    </Folded>
  )
}

/** The totals of each store with records; the details of each record type are folded. */
export function ReceiptStores({ stores }: Pick<Receipt, 'stores'>) {
  const t = useTranslations('receipt')
  const names = useDataNames()
  const format = useFormatter()
  const totals = storeTotals({ stores })
  const filled = totals.filter((total) => !isEmpty(total))
  const counts = shownCounts(filled)
  const empty = totals.filter(isEmpty).map(({ store }) => names.place(store))
  return (
    <Section id="stores" title={t('stores')}>
      {filled.length > 0 && (
        <ReceiptTable
          columns={[t('store'), ...counts.map((key) => t(key))]}
          rows={filled.map((total) => ({
            key: total.store,
            cells: [names.place(total.store), ...counts.map((key) => total[key])],
          }))}
        />
      )}
      {empty.length > 0 && (
        <details className="text-sm text-quiet">
          <summary className="min-h-6 w-fit cursor-pointer">{t('emptyCount', { count: empty.length })}</summary>
          <p>{format.list(empty)}</p>
        </details>
      )}
    </Section>
  )
}
