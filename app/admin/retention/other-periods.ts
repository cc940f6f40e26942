import { getTranslations } from 'next-intl/server'
import { inventoryTerms } from '#app/privacy/terms.ts'
import type { LineKey } from '#components/privacy/notice-lines.ts'
import type { OtherPeriod } from '#components/retention/other-periods.tsx'
import { dataNamesIn } from '#components/stores/data-names.ts'
import { app } from '#lib/app-instance.ts'

const periods: readonly (readonly [LineKey, OtherPeriod['set']])[] = [
  ['audit_entries', 'fixed'],
  ['erasure_receipts', 'fixed'],
  ['erasure_ledger', 'fixed'],
  ['privacy_requests', 'environment'],
  ['erasure_suppressions', 'fixed'],
  ['tokens', 'fixed'],
  ['knowledge_rejections', 'fixed'],
  ['exports_files', 'fixed'],
  ['llm-log_entries', 'fixed'],
  ['agents_documents', 'owner'],
  ['grimoire_entries', 'owner'],
  ['agents_heartbeats', 'fixed'],
  ['clades_deltas', 'fixed'],
  ['snapshots_objects', 'fixed'],
  ['snapshots_links', 'fixed'],
  ['telemetry_keys', 'fixed'],
  ['mail_letters', 'fixed'],
  ['idempotency_answers', 'fixed'],
]

/** The retention periods of other data than units and skills, in the words of the privacy notice. */
export async function otherPeriods(): Promise<OtherPeriod[]> {
  const [t, names, terms] = await Promise.all([
    getTranslations('privacy.held'),
    getTranslations('dataNames').then(dataNamesIn),
    inventoryTerms(),
  ])
  const { KP_BACKUP_DAYS: days } = app.env
  return [
    ...periods.map(([key, set]) => ({ key, set, what: names.records(key), kept: t(`lines.${key}.term`, terms) })),
    {
      key: 'backups',
      set: 'environment',
      what: names.place('backups'),
      kept: days === undefined ? t('noTerm') : t('days', { days }),
    },
  ]
}
