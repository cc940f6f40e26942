import { useTranslations } from 'next-intl'
import { mentionKind } from '#components/erasures/mention-rules.ts'
import { useDataNames } from '#components/stores/data-names.ts'
import { Section } from '#components/ui/page.tsx'
import type { Receipt } from '#lib/kernel/receipt.ts'
import { ReceiptTable } from './receipt-table.tsx'
import { useReceiptWords } from './receipt-words.tsx'

/** Derived data, exposed texts, remaining mentions and unsearched data of a receipt; a section appears only if the receipt has its field. */
export function DerivedSections({ receipt }: { receipt: Receipt }) {
  const t = useTranslations('receipt')
  const kinds = useTranslations('storeProgress.mentions.kinds')
  const names = useDataNames()
  const words = useReceiptWords()
  const { derived, exposed, remaining_mentions: mentions, not_searched: notSearched } = receipt
  const kindOf = (kind: string): string => {
    const key = mentionKind(kind)
    return key ? kinds(key) : kind
  }
  return (
    <>
      {(derived || exposed) && (
        <Section id="derived" title={t('derived')} lead={t('derivedLead')}>
          {derived && (
            <ReceiptTable
              columns={[t('store'), t('cut'), t('deleted'), t('judgedAgain'), t('derivedRetained')]}
              rows={derived.map(({ store, cut, deleted, judged_again, retained }) => ({
                key: store,
                cells: [names.place(store), cut, deleted, judged_again, retained],
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
              cells: [
                names.place(store),
                kindOf(kind),
                <code key="field" className="font-mono text-[0.8125rem]">
                  {field}
                </code>,
                count,
              ],
            }))}
          />
        </Section>
      )}
      {notSearched && (
        <Section id="not-searched" title={t('notSearched.title')} lead={t('notSearched.lead')}>
          <ReceiptTable
            columns={[t('store'), t('what'), t('notSearched.count')]}
            rows={notSearched.map(({ store, what, count }) => ({
              key: `${store} ${what}`,
              cells: [names.place(store), words.notSearched(what), count ?? t('notSearched.unknown')],
            }))}
          />
        </Section>
      )}
    </>
  )
}
