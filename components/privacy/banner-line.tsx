import { clsx } from 'clsx'
import type { LucideIcon } from 'lucide-react'
import type { ReactNode } from 'react'

interface BannerLineProps {
  Icon: LucideIcon
  isUrgent?: boolean
  /** Announced by screen readers when it appears, because it follows something that the reader did. */
  isLive?: boolean
  title: ReactNode
  notes: readonly string[]
  action?: ReactNode
  /** Shown below, across the full width. */
  children?: ReactNode
}

/** One item under the page header: what it is, what it means for now, and what can be done. */
export const BannerLine = ({
  Icon,
  isUrgent = false,
  isLive = false,
  title,
  notes,
  action,
  children,
}: BannerLineProps) => (
  <div className={isUrgent ? 'bg-amber-wash' : 'bg-accent-wash'}>
    <div className="mx-auto grid max-w-[90rem] in-[.with-sidebar]:mx-0 gap-3 px-4 py-3 sm:px-6">
      <div className="flex flex-wrap items-center gap-x-6 gap-y-3">
        <div role={isLive ? 'status' : undefined} className="flex min-w-0 grow basis-80 gap-3">
          <Icon aria-hidden className={clsx('mt-0.5 size-4.5 shrink-0', isUrgent ? 'text-amber' : 'text-accent')} />
          <div className="grid min-w-0 gap-0.5 [overflow-wrap:anywhere]">
            <p className="font-medium">{title}</p>
            {notes.map((note) => (
              <p key={note} className="text-sm text-quiet">
                {note}
              </p>
            ))}
          </div>
        </div>
        {action}
      </div>
      {children}
    </div>
  </div>
)
