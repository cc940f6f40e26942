import { cva, type VariantProps } from 'class-variance-authority'
import { clsx } from 'clsx'
import type { ComponentProps } from 'react'

const look = cva(
  'inline-flex max-w-full items-center gap-1.5 rounded-full border px-2 text-[0.8125rem] leading-5.5 font-medium whitespace-nowrap',
  {
    variants: {
      tone: {
        neutral: 'border-line bg-sunken text-quiet',
        progress: 'border-accent/25 bg-accent-wash text-accent',
        success: 'border-green/30 bg-green-wash text-green',
        warning: 'border-amber/40 bg-amber-wash text-amber',
        danger: 'border-red/40 bg-red-wash text-red',
      },
    },
    defaultVariants: { tone: 'neutral' },
  },
)
export type BadgeTone = NonNullable<VariantProps<typeof look>['tone']>

interface BadgeProps extends ComponentProps<'span'> {
  tone?: BadgeTone
  /** A dot before the words, for the status of a record. Leave it out for properties. */
  hasDot?: boolean
}

/**
 * A state in one or two words; the color only repeats the words. One scale for all domains: `neutral` for waiting, finished without
 * effect and properties; `progress` for running; `success` for completed and verified; `warning` for what needs attention or is limited;
 * `danger` only for overdue and failed.
 */
export const Badge = ({ tone, hasDot = false, className, children, ...rest }: BadgeProps) => (
  <span className={clsx(look({ tone }), className)} {...rest}>
    {hasDot && <span aria-hidden className="size-1.5 shrink-0 rounded-full bg-current" />}
    {children}
  </span>
)

/** The tone of every request status. Other domains map their statuses to these. */
export const statusTones = {
  received: 'neutral',
  verifying: 'warning',
  grace: 'warning',
  in_progress: 'progress',
  partly_completed: 'warning',
  completed: 'success',
  refused: 'neutral',
  cancelled: 'neutral',
  failed: 'danger',
  overdue: 'danger',
} as const satisfies Record<string, BadgeTone>
