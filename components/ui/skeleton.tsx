import { classNames } from './class-names.ts'

/** The shape of what is coming, after 200 ms. */
export const Skeleton = ({ className }: { className?: string }) => (
  <span aria-hidden className={classNames('late block rounded-small bg-sunken', className)} />
)
