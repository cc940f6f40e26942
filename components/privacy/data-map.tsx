'use client'

import { clsx } from 'clsx'
import { Archive, Database, Folder, type LucideIcon, MessagesSquare, Share2, Zap } from 'lucide-react'
import { useFormatter, useTranslations } from 'next-intl'
import { useQueryState } from '#components/frame/query-state.ts'
import type { InventoryRow } from './category-drawer.tsx'
import { type Meaning, meanings } from './meanings.ts'

export interface MappedRow extends InventoryRow {
  /** The technical name of the store. */
  storeName: string
  meaning: Meaning
}

const icons: Partial<Record<string, LucideIcon>> = {
  postgresql: Database,
  graph: Share2,
  checkpoints: MessagesSquare,
  cache: Zap,
  objects: Archive,
}
const countOf = (rows: readonly InventoryRow[]): number => rows.reduce((sum, { records }) => sum + (records ?? 0), 0)

/** Where the data is: each place with its number of items; a click shows only the items of this place. */
function Places({
  rows,
  chosen,
  onChoose,
}: {
  rows: readonly MappedRow[]
  chosen: string | null
  onChoose: (store: string | null) => void
}) {
  const t = useTranslations('inventory.map')
  const format = useFormatter()
  return (
    <ul aria-label={t('places')} className="grid grid-cols-2 gap-3 sm:grid-cols-[repeat(auto-fit,minmax(11rem,1fr))]">
      {[...Map.groupBy(rows, ({ storeName }) => storeName)].map(([name, held]) => {
        const Icon = icons[name] ?? Folder
        const isChosen = chosen === name
        return (
          <li key={name} className="grid">
            <button
              type="button"
              aria-pressed={isChosen}
              onClick={() => onChoose(isChosen ? null : name)}
              className={clsx(
                'grid content-start gap-1 rounded-box border bg-raised p-4 text-left hover:border-edge',
                isChosen ? 'border-accent outline-1 outline-accent' : 'border-line',
              )}
            >
              <span className="flex items-center gap-2 font-medium">
                <Icon aria-hidden className="size-4 shrink-0 text-accent" />
                {held[0]?.store}
              </span>
              <span className="text-title font-semibold tabular-nums">{format.number(countOf(held))}</span>
              {held[0]?.place && <span className="text-sm text-quiet">{held[0].place}</span>}
            </button>
          </li>
        )
      })}
    </ul>
  )
}

/** What the data is: each meaning with its largest categories. A category opens its details. */
function Meanings({ rows, onOpen }: { rows: readonly MappedRow[]; onOpen: (key: string) => void }) {
  const t = useTranslations('inventory')
  const format = useFormatter()
  return (
    <div className="gap-3 sm:columns-2 xl:columns-3">
      {meanings.map((meaning) => {
        const held = rows.filter((row) => row.meaning === meaning)
        if (held.length === 0) return null
        return (
          <section
            key={meaning}
            aria-labelledby={`meaning-${meaning}`}
            className="mb-3 grid break-inside-avoid gap-1 rounded-box border border-line bg-raised px-4 py-3"
          >
            <h2 id={`meaning-${meaning}`} className="flex justify-between gap-2 font-semibold">
              <span>{t(`map.meanings.${meaning}`)}</span>
              <span className="text-quiet tabular-nums">{format.number(countOf(held))}</span>
            </h2>
            <ul>
              {held
                .toSorted((one, other) => (other.records ?? 0) - (one.records ?? 0))
                .map(({ key, what, records }) => (
                  <li key={key}>
                    <button
                      type="button"
                      aria-label={t('details', { what })}
                      onClick={() => onOpen(key)}
                      className="flex min-h-7 w-full items-baseline justify-between gap-2 rounded-sm text-left text-sm hover:bg-sunken"
                    >
                      <span className="min-w-0 text-accent underline decoration-1 underline-offset-3 wrap-anywhere">
                        {what}
                      </span>
                      <span className="text-quiet tabular-nums">
                        {records === null ? t('uncounted') : format.number(records)}
                      </span>
                    </button>
                  </li>
                ))}
            </ul>
          </section>
        )
      })}
    </div>
  )
}

/** Where a person's data is, and what it is: places first, then the items by meaning. The table below it opens the details of a category. */
export function DataMap({ rows }: { rows: readonly MappedRow[] }) {
  const t = useTranslations('inventory.map')
  const [place, setPlace] = useQueryState('place')
  const [, setOpen] = useQueryState('category')
  const shown = rows.some(({ storeName }) => storeName === place) ? rows.filter((row) => row.storeName === place) : rows
  return (
    <div className="grid gap-4">
      <Places rows={rows} chosen={place} onChoose={(store) => void setPlace(store)} />
      <p role="status" className="sr-only">
        {shown.length < rows.length && t('filtered', { place: shown[0]?.store ?? '' })}
      </p>
      <Meanings rows={shown} onOpen={(key) => void setOpen(key)} />
    </div>
  )
}
