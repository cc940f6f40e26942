import { clsx } from 'clsx'
import type { ReactNode } from 'react'
import { PageLink } from './page-link.tsx'

export interface StatTile {
  /** What is counted: "Overdue". */
  label: string
  /** The formatted number or duration. */
  value: ReactNode
  /** `danger` only for overdue and failed. */
  tone?: 'neutral' | 'success' | 'warning' | 'danger'
  /** One short line: "of 40", "median of 30 days". */
  hint?: ReactNode
  /** A `Sparkline`. */
  trend?: ReactNode
  /** The records that are counted. */
  href?: string
}
const tones = { neutral: 'text-ink', success: 'text-green', warning: 'text-amber', danger: 'text-red' }

function Tile({ label, value, tone = 'neutral', hint, trend, href }: StatTile) {
  return (
    <div
      className={clsx(
        'relative grid content-start gap-0.5 rounded-box border border-line bg-raised px-4 py-3',
        href !== undefined && 'hover:border-edge',
      )}
    >
      <dt className="text-sm text-quiet">
        {href === undefined ? (
          label
        ) : (
          <PageLink href={href} className="after:absolute after:inset-0 after:rounded-box">
            {label}
          </PageLink>
        )}
      </dt>
      <dd className="flex flex-wrap items-end justify-between gap-2">
        <span
          className={clsx(
            'min-w-0 text-title font-semibold tracking-tight break-keep tabular-nums [&_span]:whitespace-normal',
            tones[tone],
          )}
        >
          {value}
        </span>
        {trend}
      </dd>
      {hint && <dd className="text-sm text-quiet">{hint}</dd>}
    </div>
  )
}

/** The numbers of a page in a row of boxes, six in two rows; two in a row on a phone. */
export const StatTiles = ({ tiles }: { tiles: readonly StatTile[] }) => (
  <dl
    className={clsx(
      'grid grid-cols-2 gap-3',
      tiles.length === 6 ? 'sm:grid-cols-3' : 'sm:grid-cols-[repeat(auto-fit,minmax(10.5rem,1fr))]',
    )}
  >
    {tiles.map((tile) => (
      <Tile key={tile.label} {...tile} />
    ))}
  </dl>
)
