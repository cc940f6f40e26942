import { getFormatter, getTranslations } from 'next-intl/server'
import { RetainedList } from '#components/privacy/retained-list.tsx'
import { externalSystemsIn } from '#components/privacy/retained-rules.ts'
import { app } from '#lib/app-instance.ts'
import { readEnv } from '#lib/config/env.ts'
import { auditDays } from '#lib/domains/audit/rules.ts'
import type { Receipt } from '#lib/kernel/receipt.ts'

/** What remains after a deletion, in two lines; everything in detail behind a disclosure. */
export async function RetainedData({ retained }: Pick<Receipt, 'retained'>) {
  const [t, format] = await Promise.all([getTranslations('deletion.what.stays'), getFormatter()])
  const { systems, hasOthers } = externalSystemsIn(retained)
  const outside = hasOthers ? [...systems, t('outsideOthers')] : systems
  const backupDays = readEnv().KP_BACKUP_DAYS
  return (
    <section aria-labelledby="retained-title" className="grid gap-2">
      <h3 id="retained-title" className="font-semibold">
        {t('title')}
      </h3>
      <p>{t('lead', { days: auditDays })}</p>
      {outside.length > 0 && <p>{t('outside', { systems: format.list(outside) })}</p>}
      <p>{backupDays === undefined ? t('backupsOpen') : t('backups', { days: backupDays })}</p>
      <details>
        <summary className="min-h-6 cursor-pointer text-accent">{t('all', { count: retained.length })}</summary>
        <RetainedList retained={retained} now={app.pipeline.clock.now()} />
      </details>
    </section>
  )
}
