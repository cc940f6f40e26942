import { clsx } from 'clsx'
import type { ReactNode } from 'react'

export interface MarkedSpan {
  /** UTF-16 offsets, the end exclusive. */
  start: number
  end: number
  tone: 'amber' | 'red'
  /** What it is, behind it: the colour alone would say nothing to many. */
  note?: string
}
const tones = { amber: 'bg-amber-wash', red: 'bg-red-wash' }

/** A text as it is, line by line, with stretches of it marked; they come in their order and do not overlap. */
export function MarkedText({ text, spans, label }: { text: string; spans: readonly MarkedSpan[]; label: string }) {
  const pieces: ReactNode[] = []
  let at = 0
  for (const { start, end, tone, note } of spans) {
    pieces.push(text.slice(at, start))
    pieces.push(
      <mark key={start} className={clsx('rounded-small px-0.5 text-ink', tones[tone])}>
        {text.slice(start, end)}
        {note !== undefined && <span className="ml-1 font-sans text-xs font-medium select-none">[{note}]</span>}
      </mark>,
    )
    at = end
  }
  pieces.push(text.slice(at))
  return (
    <figure aria-label={label} className="min-w-0 rounded-box border border-line bg-sunken">
      <pre
        dir="auto"
        className="px-3.5 py-3 font-mono text-[0.8125rem] leading-relaxed whitespace-pre-wrap [overflow-wrap:anywhere]"
      >
        {pieces}
      </pre>
    </figure>
  )
}
