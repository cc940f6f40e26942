import { getTranslations } from 'next-intl/server'
import type { InventoryRow } from '#components/privacy/category-drawer.tsx'
import { DataMap, type MappedRow } from '#components/privacy/data-map.tsx'
import { recordsPageOf, sortedHoldings, storedBeside } from '#components/privacy/inventory-rules.ts'
import { InventoryTable } from '#components/privacy/inventory-table.tsx'
import { meaningOf } from '#components/privacy/meanings.ts'
import { lineKeyOf } from '#components/privacy/notice-lines.ts'
import { RetainedList } from '#components/privacy/retained-list.tsx'
import { ButtonLink } from '#components/ui/button.tsx'
import { EmptyState } from '#components/ui/empty-state.tsx'
import { app } from '#lib/app-instance.ts'
import type { Inventory } from '#lib/domains/exports/contract.ts'
import { type InventoryTexts, inventoryTexts } from './inventory-texts.ts'

type Words = Awaited<ReturnType<typeof inventoryTexts>>
type Line = Inventory['kept_beside'][number]

function rowOf(words: Words, line: Line): InventoryRow {
  const texts: InventoryTexts = words.of(line.name, line)
  return {
    key: line.name,
    ...texts,
    store: words.store(line.store),
    place: words.place(line.store),
    records: line.count,
    since: line.since,
    until: line.until,
    ground: words.ground(line.basis),
    href: recordsPageOf(line.name),
  }
}

const mappedRowOf = (words: Words, line: Line): MappedRow => {
  const key = lineKeyOf(line.name)
  const meaning = (key && meaningOf.get(key)) ?? 'you'
  return { ...rowOf(words, line), storeName: line.store, meaning }
}

/** What an erasure of the subject retains. Legal holds are not computed here, and the text above the list says so. */
const retainedAfterErasure = ({ data, subject, as_of }: Inventory) =>
  app.expectedRetention(
    {
      subject: { account: subject.account_id },
      counts: new Map(data.map(({ holder, count }) => [holder, count])),
      held: [],
    },
    new Date(as_of),
  )

/** The inventory: categories with records, and collapsed lists of empty categories, of proof and of what a deletion retains. */
export async function InventoryOverview({ inventory }: { inventory: Inventory }) {
  const [t, words] = await Promise.all([getTranslations('inventory'), inventoryTexts()])
  const { held, empty } = sortedHoldings(inventory.data)
  const beside = storedBeside(inventory.kept_beside)
  const retained = await retainedAfterErasure(inventory)
  const rows = held.map((line) => mappedRowOf(words, { ...line, name: line.holder }))
  return (
    <div className="grid min-w-0 grid-cols-[minmax(0,1fr)] gap-4">
      {held.length === 0 ? (
        <EmptyState title={t('nothing')} action={<ButtonLink href="/agents">{t('agents')}</ButtonLink>}>
          {t('nothingText')}
        </EmptyState>
      ) : (
        <>
          <DataMap rows={rows} />
          <details>
            <summary className="min-h-6 cursor-pointer text-accent">{t('table')}</summary>
            <div className="mt-2">
              <InventoryTable name="privacy-inventory" label={t('held')} rows={rows} />
            </div>
          </details>
        </>
      )}
      {empty.length > 0 && (
        <details>
          <summary className="min-h-6 cursor-pointer text-accent">{t('empty', { count: empty.length })}</summary>
          <ul className="mt-2 columns-1 gap-x-8 pl-5 text-sm text-quiet sm:columns-2 lg:columns-3">
            {empty.map((line) => (
              <li key={line.holder} className="list-disc">
                {words.of(line.holder, line).what}
              </li>
            ))}
          </ul>
        </details>
      )}
      {beside.length > 0 && (
        <details>
          <summary className="min-h-6 cursor-pointer text-accent">{t('beside', { count: beside.length })}</summary>
          <div className="mt-2">
            <InventoryTable
              label={t('beside', { count: beside.length })}
              rows={beside.map((line) => rowOf(words, line))}
            />
          </div>
        </details>
      )}
      <details>
        <summary className="min-h-6 cursor-pointer text-accent">{t('stays', { count: retained.length })}</summary>
        <div className="mt-2 grid grid-cols-[minmax(0,1fr)] gap-3">
          <p className="text-quiet">{t('staysLead')}</p>
          <RetainedList retained={retained} now={new Date(inventory.as_of)} />
        </div>
      </details>
    </div>
  )
}
