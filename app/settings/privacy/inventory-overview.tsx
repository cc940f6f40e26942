import { getFormatter, getTranslations } from 'next-intl/server'
import { sortedHoldings, staying } from '#components/privacy/inventory-rules.ts'
import { type InventoryRow, InventoryTable } from '#components/privacy/inventory-table.tsx'
import { Section } from '#components/ui/page.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import type { Inventory } from '#lib/domains/exports/inventory-contract.ts'
import { inventoryTexts } from './inventory-texts.ts'

/** The inventory: data sources with records, a collapsed list of empty ones, and the records that are retained after an erasure. */
export async function InventoryOverview({ inventory, isOfAgent }: { inventory: Inventory; isOfAgent: boolean }) {
  const [t, format, words] = await Promise.all([getTranslations('inventory'), getFormatter(), inventoryTexts()])
  type Line = Inventory['kept_beside'][number]
  const rowOf = (line: Line): InventoryRow => ({
    key: line.name,
    ...words.of(line.name, line),
    store: words.store(line.store),
    records: line.count === null ? t('uncounted') : format.number(line.count),
    since: line.since,
    until: line.until,
    ground: words.ground(line.basis),
  })
  const named = inventory.data.map((line) => ({ ...line, name: line.holder }))
  const { held, empty } = sortedHoldings(named)
  const nameOf = (holder: string) => named.find(({ name }) => name === holder)
  return (
    <>
      <Section id="held" title={t('held')}>
        {held.length > 0 ? (
          <InventoryTable
            label={t('held')}
            rows={held.flatMap(({ holder }) => {
              const line = nameOf(holder)
              return line ? [rowOf(line)] : []
            })}
          />
        ) : (
          <p>{t('nothing')}</p>
        )}
        {empty.length > 0 && (
          <details className="group">
            <summary className="cursor-pointer text-accent">
              {t(isOfAgent ? 'emptyAgent' : 'empty', { count: empty.length })}
            </summary>
            <ul className="mt-2 grid list-disc gap-1 pl-5 text-quiet">
              {empty.map((line) => (
                <li key={line.holder}>{words.of(line.holder, line).what}</li>
              ))}
            </ul>
          </details>
        )}
        <p className="text-sm text-quiet">
          {t.rich('asOf', { time: () => <Time at={inventory.as_of} /> })}{' '}
          {t.rich('notice', { link: (text) => <TextLink href="/privacy">{text}</TextLink> })}
        </p>
      </Section>
      <Section id="stays" title={t('stays')} lead={t('staysLead')}>
        <InventoryTable label={t('stays')} rows={staying(inventory.kept_beside).map(rowOf)} />
      </Section>
    </>
  )
}
