import { useFormatter, useTranslations } from 'next-intl'
import { useDataNames } from '#components/stores/data-names.ts'
import { Section } from '#components/ui/page.tsx'
import { Time } from '#components/ui/time.tsx'
import type { Receipt } from '#lib/kernel/receipt.ts'
import { Folded } from './folded.tsx'
import { ReceiptTable } from './receipt-table.tsx'
import { isEmpty, storeTotals } from './store-totals.ts'

/** Each record type with records, in the reader's language. */
export function RecordTypes({ stores }: Pick<Receipt, 'stores'>) {
  const t = useTranslations('receipt')
  const names = useDataNames()
  const format = useFormatter()
  const filled = stores.filter(({ found, deleted, residue }) => !isEmpty({ found, deleted, left: residue }))
  const empty = stores.filter((one) => !filled.includes(one)).map((one) => names.erasedRecords(one.holder, one.what))
  return (
    <Folded title={t('byType')}>
      <ReceiptTable
        columns={[t('store'), t('what'), t('found'), t('deleted'), t('left'), t('checkedAt')]}
        rows={filled.map((one) => ({
          key: one.holder,
          cells: [
            names.place(one.store),
            names.erasedRecords(one.holder, one.what),
            one.found,
            one.deleted,
            one.residue,
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
  const empty = totals.filter(isEmpty).map(({ store }) => names.place(store))
  return (
    <Section id="stores" title={t('stores')}>
      {filled.length > 0 && (
        <ReceiptTable
          columns={[t('store'), t('found'), t('deleted'), t('left')]}
          rows={filled.map(({ store, found, deleted, left }) => ({
            key: store,
            cells: [names.place(store), found, deleted, left],
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
