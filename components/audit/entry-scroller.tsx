'use client'

import { useVirtualizer } from '@tanstack/react-virtual'
import { clsx } from 'clsx'
import { useTranslations } from 'next-intl'
import { useEffect, useLayoutEffect, useRef, useState, useSyncExternalStore } from 'react'
import type { EntryWindow } from './audit-pages.ts'
import { ActCells, frame, Head, rowLook, tableLook } from './entry-rows.tsx'

/** Most rows in the scroller: browsers render nothing beyond 17 million pixels. */
const maxWithin = 200_000
const shift = maxWithin / 2
const rowHeights = { wide: 36, narrow: 76 }

/** The media query of the variant `as-cards` in app/globals.css. */
const phone = 'screen and (width < 48rem)'
const useIsNarrow = () =>
  useSyncExternalStore(
    (changed) => {
      const media = matchMedia(phone)
      media.addEventListener('change', changed)
      return () => media.removeEventListener('change', changed)
    },
    () => matchMedia(phone).matches,
    () => false,
  )

interface EntryRowsProps {
  view: EntryWindow
  count: number
  isWhole: boolean
  cursor: number
  opened: string | null
  onOpen: (index: number) => void
}

/** Renders the visible rows of a list of any length. All rows have the same height. The page loads it after its first rows. */
export function EntryRows({ view, count, isWhole, cursor, opened, onOpen }: EntryRowsProps) {
  const t = useTranslations('audit')
  const scroller = useRef<HTMLDivElement>(null)
  const isNarrow = useIsNarrow()
  const height = isNarrow ? rowHeights.narrow : rowHeights.wide
  // The first row in the scroller. Scrolling back near the top moves it to earlier rows.
  const [base, setBase] = useState(0)
  const moved = useRef(0)
  const within = Math.min(count - base, maxWithin)
  const virtual = useVirtualizer({
    count: within,
    getScrollElement: () => scroller.current,
    estimateSize: () => height,
    overscan: 10,
  })
  const rows = virtual.getVirtualItems()
  const from = base + (rows[0]?.index ?? 0)
  const to = base + (rows.at(-1)?.index ?? 0)

  useEffect(() => view.show(from, to), [view, from, to])
  useEffect(() => {
    if (base > 0 && from - base < 1_000) {
      moved.current = shift
      setBase(base - shift)
    } else if (count - base > maxWithin && to - base > maxWithin - 1_000) {
      moved.current = -shift
      setBase(base + shift)
    }
  }, [base, count, from, to])
  useLayoutEffect(() => {
    if (moved.current === 0 || !scroller.current) return
    scroller.current.scrollTop += moved.current * height
    moved.current = 0
  })
  useEffect(() => {
    void height
    virtual.measure()
  }, [height, virtual])
  useEffect(() => {
    if (cursor >= base && cursor < base + within) virtual.scrollToIndex(cursor - base, { align: 'auto' })
  }, [cursor, base, within, virtual])

  const above = rows[0]?.start ?? 0
  const below = virtual.getTotalSize() - (rows.at(-1)?.end ?? 0)
  return (
    <div ref={scroller} data-audit-rows className={clsx(frame, 'overflow-y-auto overscroll-contain [contain:strict]')}>
      <table aria-label={t('table')} aria-rowcount={isWhole ? count + 1 : -1} className={tableLook}>
        <Head />
        <tbody className="as-cards:block">
          {above > 0 && <Gap height={above} />}
          {rows.map(({ index }) => {
            const at = base + index
            const act = view.rowAt(at)
            return (
              <tr
                key={at}
                aria-rowindex={at + 2}
                data-row={at}
                className={clsx(
                  rowLook,
                  at === cursor && 'outline-2 -outline-offset-2 outline-accent',
                  act?.parts.some(({ entry }) => entry.id === opened) && 'bg-accent-wash',
                )}
              >
                {act ? <ActCells act={act} onOpen={() => onOpen(at)} /> : <PlaceHolder />}
              </tr>
            )
          })}
          {below > 0 && <Gap height={below} />}
        </tbody>
      </table>
    </div>
  )
}

/** Fills the height of rows that are not rendered. */
const Gap = ({ height }: { height: number }) => (
  <tr aria-hidden className="as-cards:block" style={{ height }}>
    <td colSpan={3} className="p-0" />
  </tr>
)

const PlaceHolder = () => (
  <td colSpan={3} className="px-3">
    <span aria-hidden className="late block h-3 rounded-small bg-sunken" />
  </td>
)
