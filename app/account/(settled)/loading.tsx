import { useTranslations } from 'next-intl'
import { Skeleton } from '#components/ui/skeleton.tsx'

const rows = ['w-40', 'w-56', 'w-48', 'w-36']

export default function Loading() {
  const t = useTranslations('common')
  return (
    <main
      id="content"
      aria-busy
      className="mx-auto grid w-full max-w-3xl grow content-start gap-8 px-4 py-8 sm:px-6 sm:py-12"
    >
      <p role="status" className="sr-only">
        {t('loading')}
      </p>
      <Skeleton className="h-8 w-72 max-w-full" />
      <div className="grid gap-3 border-t border-line pt-6">
        {rows.map((width) => (
          <Skeleton key={width} className={`h-5 ${width}`} />
        ))}
      </div>
      <div className="grid gap-3 border-t border-line pt-6">
        <Skeleton className="h-16 w-full" />
        <Skeleton className="h-16 w-full" />
      </div>
    </main>
  )
}
