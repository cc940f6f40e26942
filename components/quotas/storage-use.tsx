import { useTranslations } from 'next-intl'
import { useSizes } from '#components/projects/sizes.ts'
import { Alert } from '#components/ui/alert.tsx'
import { ProgressBar } from '#components/ui/progress.tsx'
import type { readStorage } from '#lib/domains/quotas/contract.ts'
import type { Output } from '#lib/kernel/operation.ts'

export type StorageFacts = Output<typeof readStorage>['data']

/** Storage use and limit of an organization, with a warning from 80 %. */
export function StorageUseCard({ storage }: { storage: StorageFacts }) {
  const t = useTranslations('storage')
  const size = useSizes()
  const { bytes_used, bytes_limit, rows_used, rows_limit, percent_used, is_override } = storage
  return (
    <div className="grid gap-3">
      {percent_used >= 80 && (
        <Alert tone={percent_used >= 100 ? 'danger' : 'warning'} title={t('warning', { percent: percent_used })}>
          <p>{t(percent_used >= 100 ? 'full' : 'nearlyFull')}</p>
        </Alert>
      )}
      <div className="grid gap-1">
        <p>
          {bytes_limit === null
            ? t('bytesWithoutLimit', { used: size(bytes_used) })
            : t('bytes', { used: size(bytes_used), limit: size(bytes_limit) })}
        </p>
        {bytes_limit !== null && <ProgressBar value={bytes_used} max={bytes_limit} label={t('bytesLabel')} />}
      </div>
      <div className="grid gap-1">
        <p>
          {rows_limit === null
            ? t('rowsWithoutLimit', { used: rows_used })
            : t('rows', { used: rows_used, limit: rows_limit })}
        </p>
        {rows_limit !== null && <ProgressBar value={rows_used} max={rows_limit} label={t('rowsLabel')} />}
      </div>
      {is_override && <p className="text-sm text-quiet">{t('override')}</p>}
    </div>
  )
}
