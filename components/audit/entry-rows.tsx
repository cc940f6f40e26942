'use client'

import { useVirtualizer } from '@tanstack/react-virtual'
import { clsx } from 'clsx'
import { useFormatter, useTranslations } from 'next-intl'
import { useEffect, useLayoutEffect, useRef, useState, useSyncExternalStore } from 'react'
import type { EntryWindow, ListedAct } from './audit-pages.ts'
import { useSentences } from './sentences.ts'

/** Most rows in the scroller: browsers render nothing beyond 17 million pixels. */
const mostWithin = 200_000
const shift = mostWithin / 2
const rowHeights = { wide: 36, narrow: 76 }
const clock = {
  day: '2-digit',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
} as const

const phone = '(max-width: 639px)'
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

/** Renders the visible rows. All rows have the same height. */
export function EntryRows({ view, count, isWhole, cursor, opened, onOpen }: EntryRowsProps) {
  const t = useTranslations('audit')
  const scroller = useRef<HTMLDivElement>(null)
  const isNarrow = useIsNarrow()
  const height = isNarrow ? rowHeights.narrow : rowHeights.wide
  // The first row in the scroller. Scrolling back near the top moves it to earlier rows.
  const [base, setBase] = useState(0)
  const moved = useRef(0)
  const within = Math.min(count - base, mostWithin)
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
    } else if (count - base > mostWithin && to - base > mostWithin - 1_000) {
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
        <tbody className="max-sm:block">
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

const frame = 'h-[70dvh] min-h-96 rounded-box border border-line bg-raised text-sm'
const tableLook = 'w-full table-fixed border-collapse max-sm:block'
/** The height must equal `rowHeights`, regardless of the content. */
const rowLook = 'relative border-b border-line max-sm:grid max-sm:h-19 max-sm:content-center max-sm:px-3 sm:h-9'
const cellLook = 'truncate font-normal text-left sm:px-3'
const widths = { time: 'w-44', what: '', more: 'w-32' }
const titles = ['time', 'what', 'more'] as const

function Head() {
  const t = useTranslations('audit.columns')
  return (
    <thead className="max-sm:sr-only">
      <tr className="h-9">
        {titles.map((name) => (
          <th
            key={name}
            scope="col"
            className={clsx(
              'sticky top-0 z-[1] truncate bg-sunken px-3 text-left font-medium text-quiet shadow-[inset_0_-1px_var(--line)]',
              widths[name],
            )}
          >
            {t(name)}
          </th>
        ))}
      </tr>
    </thead>
  )
}

/** Fills the height of rows that are not rendered. */
const Gap = ({ height }: { height: number }) => (
  <tr aria-hidden className="max-sm:block" style={{ height }}>
    <td colSpan={3} className="p-0" />
  </tr>
)

function ActCells({ act, onOpen }: { act: ListedAct; onOpen?: () => void }) {
  const t = useTranslations('audit')
  const format = useFormatter()
  const { sentenceOf } = useSentences()
  const [first, ...others] = act.parts
  if (!first) return null
  const { timestamp } = first.entry
  const sentence = sentenceOf(first, act)
  return (
    <>
      <td
        className={clsx(cellLook, 'text-quiet tabular-nums')}
        title={`${timestamp.slice(0, 23).replace('T', ' ')} UTC`}
      >
        {format.dateTime(new Date(timestamp), clock)}
      </td>
      <th scope="row" className={clsx(cellLook, 'max-sm:whitespace-normal')}>
        <button
          type="button"
          onClick={onOpen}
          title={[sentence, ...others.map((part) => sentenceOf(part, act))].join('\n')}
          className="max-w-full truncate text-left underline-offset-3 max-sm:line-clamp-2 max-sm:whitespace-normal after:absolute after:inset-0 after:cursor-pointer hover:underline"
        >
          {sentence}
        </button>
      </th>
      <td className={clsx(cellLook, 'text-quiet max-sm:hidden')}>
        {act.count > 1 && t('entries', { count: act.count })}
      </td>
    </>
  )
}

const PlaceHolder = () => (
  <td colSpan={3} className="px-3">
    <span aria-hidden className="late block h-3 rounded-small bg-sunken" />
  </td>
)

/** The first rows in the server render: the same layout, so that nothing moves at hydration. */
export function FirstRows({ acts }: { acts: readonly ListedAct[] }) {
  const t = useTranslations('audit')
  return (
    <div className={clsx(frame, 'overflow-hidden')}>
      <table aria-label={t('table')} className={tableLook}>
        <Head />
        <tbody className="max-sm:block">
          {acts.slice(0, 25).map((act) => (
            <tr key={act.parts[0]?.entry.id} className={rowLook}>
              <ActCells act={act} />
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
