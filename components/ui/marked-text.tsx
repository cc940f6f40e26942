import { clsx } from 'clsx'
import type { ReactNode } from 'react'

export interface MarkedSpan {
  /** UTF-16 offsets; `end` is exclusive. */
  start: number
  end: number
  tone: 'amber' | 'red'
  /** Text after the mark, because colour must not be the only cue. */
  note?: string
}
const tones = { amber: 'bg-amber-wash', red: 'bg-red-wash' }

/** A text with marked ranges. The ranges must be in order and must not overlap. */
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
