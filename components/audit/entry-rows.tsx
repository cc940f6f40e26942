'use client'

import { clsx } from 'clsx'
import { useFormatter, useTranslations } from 'next-intl'
import type { ListedAct } from './audit-pages.ts'
import { useSentences } from './sentences.ts'

const clock = {
  day: '2-digit',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
} as const

export const frame = 'h-[70dvh] min-h-96 rounded-box border border-line bg-raised text-sm'
export const tableLook = 'w-full table-fixed border-collapse as-cards:block'
/** The height must equal `rowHeights` of the scroller, regardless of the content. */
export const rowLook =
  'relative border-b border-line as-cards:grid as-cards:h-19 as-cards:content-center as-cards:px-3 as-table:h-9'
const cellLook = 'truncate font-normal text-left as-table:px-3'
const widths = { time: 'w-44', what: '', more: 'w-32' }
const titles = ['time', 'what', 'more'] as const

export function Head() {
  const t = useTranslations('audit.columns')
  return (
    <thead className="as-cards:sr-only">
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

export function ActCells({ act, onOpen }: { act: ListedAct; onOpen: () => void }) {
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
      <th scope="row" className={clsx(cellLook, 'as-cards:whitespace-normal')}>
        <button
          type="button"
          onClick={onOpen}
          title={[sentence, ...others.map((part) => sentenceOf(part, act))].join('\n')}
          className="max-w-full truncate text-left underline-offset-3 as-cards:line-clamp-2 as-cards:whitespace-normal after:absolute after:inset-0 after:cursor-pointer hover:underline"
        >
          {sentence}
        </button>
      </th>
      <td className={clsx(cellLook, 'text-quiet as-cards:hidden')}>
        {act.count > 1 && t('entries', { count: act.count })}
      </td>
    </>
  )
}

/** The first rows until the scroller has loaded: the same layout, so that nothing moves then. */
export function FirstRows({ acts, onOpen }: { acts: readonly ListedAct[]; onOpen: (index: number) => void }) {
  const t = useTranslations('audit')
  return (
    <div className={clsx(frame, 'overflow-hidden')}>
      <table aria-label={t('table')} className={tableLook}>
        <Head />
        <tbody className="as-cards:block">
          {acts.slice(0, 25).map((act, index) => (
            <tr key={act.parts[0]?.entry.id} className={rowLook}>
              <ActCells act={act} onOpen={() => onOpen(index)} />
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
