import { clsx } from 'clsx'

/** How much of something is done. `max` 0: it is not known yet how much there is. */
export function Progress({
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
