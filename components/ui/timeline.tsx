import { clsx } from 'clsx'
import type { ReactNode } from 'react'
import { Time } from './time.tsx'

export interface TimelineEvent {
  key: string
  /** The moment (ISO 8601); null for a future event without a date. */
  at: string | null
  title: ReactNode
  /** The name of the person, or "System". */
  by?: ReactNode
  /** A note, a reason or a link to the evidence. */
  children?: ReactNode
  tone?: 'neutral' | 'progress' | 'success' | 'warning' | 'danger'
}
const tones = {
  neutral: 'bg-edge',
  progress: 'bg-accent',
  success: 'bg-green',
  warning: 'bg-amber',
  danger: 'bg-red',
}

/** What happened to a record, in the given order, each with time and author. */
export const Timeline = ({ label, events }: { label: string; events: readonly TimelineEvent[] }) => (
  <ol aria-label={label} className="grid border-l border-line pl-5">
    {events.map(({ key, at, title, by, children, tone = 'neutral' }) => (
      <li key={key} className="relative grid gap-1 pb-5 last:pb-0">
        <span
          aria-hidden
          className={clsx('absolute top-1.5 -left-[1.5625rem] size-2.5 rounded-full ring-2 ring-paper', tones[tone])}
        />
        <p>{title}</p>
        {children && <div className="max-w-prose text-quiet">{children}</div>}
        {(at !== null || by) && (
          <p className="text-sm text-quiet">
            {at !== null && <Time at={at} />}
            {at !== null && by && ' · '}
            {by}
          </p>
        )}
      </li>
    ))}
  </ol>
)
