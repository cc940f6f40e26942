'use client'

import { useTranslations } from 'next-intl'
import { toneOfTimeLeft } from '#components/requests/time-left-rules.ts'
import { countByStretch } from './due.ts'
import type { AdminRequest } from './endpoints.ts'

const [width, height, left, right] = [960, 58, 9, 20]
/** Days shown before and after now; requests beyond are drawn at the edge. */
const [before, after] = [7, 35]
const base = height - 19
const marks = [1, 3, 7, 14, 28]
const tones = { red: 'fill-red', amber: 'fill-amber', plain: 'fill-accent' } as const

const clamped = (days: number) => Math.max(-before, Math.min(after, days))
/** Near days get more room than far ones, because they need action first. */
const scaled = (days: number) => Math.sign(days) * Math.sqrt(Math.abs(days))
const xOf = (days: number): number => {
  const [low, high] = [scaled(-before), scaled(after)]
  return left + ((scaled(clamped(days)) - low) / (high - low)) * (width - left - right)
}

/** Requests by due date: one dot each, stacked if due at about the same time. Screen readers get the numbers. */
export function DuePicture({ requests }: { requests: readonly AdminRequest[] }) {
  const t = useTranslations('queue.picture')
  const counts = countByStretch(requests)
  const heights = new Map<number, number>()
  const dots = requests.flatMap(({ id, due, seconds_left }) => {
    if (due === 'paused' || due === 'stopped' || seconds_left === null) return []
    const column = Math.round(xOf(seconds_left / 86_400) / 9)
    const level = heights.get(column) ?? 0
    heights.set(column, level + 1)
    return [{ id, tone: tones[toneOfTimeLeft(seconds_left)], x: column * 9, y: base - 6 - Math.min(level, 3) * 9 }]
  })
  const now = xOf(0)
  return (
    <figure className="max-sm:sr-only">
      <svg
        viewBox={`0 0 ${width} ${height}`}
        role="img"
        aria-label={t('label')}
        className="h-14 w-full max-w-5xl text-[0.6875rem]"
        preserveAspectRatio="xMinYMid meet"
      >
        <rect x={left} y="4" width={now - left} height={base - 4} className="fill-red-wash" />
        <line x1={left} x2={width - right} y1={base} y2={base} className="stroke-edge" />
        <line x1={now} x2={now} y1="4" y2={base + 4} className="stroke-ink" />
        <text x={now} y={height - 5} textAnchor="middle" className="fill-ink font-medium">
          {t('now')}
        </text>
        <text x={left + 4} y={height - 5} className="fill-quiet">
          {t('overdue')}
        </text>
        {marks.map((days) => (
          <g key={days}>
            <line x1={xOf(days)} x2={xOf(days)} y1={base} y2={base + 4} className="stroke-edge" />
            <text x={xOf(days)} y={height - 5} textAnchor="middle" className="fill-quiet">
              {t('days', { n: days })}
            </text>
          </g>
        ))}
        {dots.map(({ id, tone, x, y }) => (
          <circle key={id} cx={x} cy={y} r="3.5" className={tone} />
        ))}
      </svg>
      <figcaption className="sr-only">{t('words', counts)}</figcaption>
    </figure>
  )
}
