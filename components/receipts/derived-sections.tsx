import { useTranslations } from 'next-intl'
import { Section } from '#components/ui/page.tsx'
import type { Receipt } from '#lib/kernel/receipt.ts'
import { ReceiptTable } from './receipt-table.tsx'

/** Derived data, exposed texts, remaining mentions and unsearched data of a receipt; a section appears only if the receipt has its field. */
export function DerivedSections({ receipt }: { receipt: Receipt }) {
  const t = useTranslations('receipt')
  const { derived, exposed, remaining_mentions: mentions, not_searched: notSearched } = receipt
  return (
    <>
      {(derived || exposed) && (
        <Section id="derived" title={t('derived')} lead={t('derivedLead')}>
          {derived && (
            <ReceiptTable
              columns={[t('store'), t('cut'), t('deleted'), t('judgedAgain'), t('derivedRetained')]}
              rows={derived.map(({ store, cut, deleted, judged_again, retained }) => ({
                key: store,
                cells: [store, cut, deleted, judged_again, retained],
              }))}
            />
          )}
          {exposed && <p>{t('exposed', exposed)}</p>}
        </Section>
      )}
      {mentions && (
        <Section id="mentions" title={t('mentions')} lead={t('mentionsLead')}>
          <ReceiptTable
            columns={[t('store'), t('kind'), t('field'), t('count')]}
            rows={mentions.map(({ store, kind, field, count }) => ({
              key: `${store} ${kind} ${field}`,
              cells: [store, kind, field, count],
            }))}
          />
        </Section>
      )}
      {notSearched && (
        <Section id="not-searched" title={t('notSearched')} lead={t('notSearchedLead')}>
          <ReceiptTable
            columns={[t('store'), t('what'), t('count')]}
            rows={notSearched.map(({ store, what, count }) => ({
              key: `${store} ${what}`,
              cells: [
                store,
                <span key="what" lang="en">
                  {what}
                </span>,
                count ?? t('unknownCount'),
              ],
            }))}
          />
        </Section>
      )}
    </>
  )
}
