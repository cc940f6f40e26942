import { clsx } from 'clsx'

/** A progress bar. `max` 0 means that the total is not known yet. `isRestHeld`: the rest is under legal hold and shown in amber. */
export function ProgressBar({
  value,
  max,
  label,
  isRestHeld = false,
  className,
}: {
  value: number
  max: number
  label: string
  isRestHeld?: boolean
  className?: string
}) {
  return (
    <progress
      aria-label={label}
      {...(max > 0 && { value: Math.min(value, max), max })}
      className={clsx('progress h-1.5 w-full', isRestHeld && 'progress-held', className)}
    />
  )
}
