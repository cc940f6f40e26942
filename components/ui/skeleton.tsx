import { clsx } from 'clsx'

/** A loading placeholder that appears after 200 ms. */
export const Skeleton = ({ className }: { className?: string }) => (
  <span aria-hidden className={clsx('late block rounded-small bg-sunken', className)} />
)
