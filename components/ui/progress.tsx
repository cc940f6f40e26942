import { clsx } from 'clsx'

/** A progress bar. `max` 0 means that the total is not known yet. */
export function ProgressBar({
  value,
  max,
  label,
  className,
}: {
  value: number
  max: number
  label: string
  className?: string
}) {
  return (
    <progress
      aria-label={label}
      {...(max > 0 && { value: Math.min(value, max), max })}
      className={clsx('progress h-1.5 w-full', className)}
    />
  )
}
