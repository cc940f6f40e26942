import { clsx } from 'clsx'
import { useTranslations } from 'next-intl'

/** A loading placeholder that appears after 200 ms. */
export const Skeleton = ({ className }: { className?: string }) => (
  <span aria-hidden className={clsx('late block rounded-small bg-sunken', className)} />
)

const places = ['first', 'second', 'third', 'fourth', 'fifth', 'sixth']

/** The loading placeholder of a page with a table. */
export function PageSkeleton({ width = 'wide', rows = 6 }: { width?: 'text' | 'wide'; rows?: 3 | 6 }) {
  const t = useTranslations('common')
  return (
    <main
      id="content"
      tabIndex={-1}
      className={clsx(
        'mx-auto grid w-full grow content-start gap-8 px-4 py-8 outline-none sm:px-6 sm:py-12',
        width === 'wide' ? 'max-w-5xl' : 'max-w-3xl',
      )}
    >
      <p role="status" className="sr-only">
        {t('loading')}
      </p>
      <div className="grid gap-3">
        <Skeleton className="h-8 w-3/4 max-w-md" />
        <Skeleton className="h-5 w-1/2 max-w-sm" />
      </div>
      <div className="grid gap-px">
        {places.slice(0, rows).map((place) => (
          <Skeleton key={place} className="h-9" />
        ))}
      </div>
    </main>
  )
}
