import { getTranslations } from 'next-intl/server'
import { inventoryTexts } from '#app/settings/privacy/inventory-texts.ts'
import { staying } from '#components/privacy/inventory-rules.ts'
import { type NoticeEntry, NoticeList } from '#components/privacy/notice-list.tsx'
import { app } from '#lib/app-instance.ts'
import { readEnv } from '#lib/config/env.ts'
import { auditDays } from '#lib/domains/audit/rules.ts'

/** Records that a deletion retains, each with the reason and the end of its retention. */
async function retainedEntries(): Promise<NoticeEntry[]> {
  const [t, words] = await Promise.all([getTranslations('deletion.what.stays'), inventoryTexts()])
  const kept = staying(app.retainedRecords.map((one) => ({ ...one, count: 0, since: null, until: null, where: '' })))
  const entryOf = (key: 'request' | 'letters', term: string): NoticeEntry => ({
    key,
    what: t(`${key}.what`),
    text: t(`${key}.why`),
    term,
  })
  return [
    ...kept.map((one) => {
      const { what, term, why } = words.of(one.name, one)
      return { key: one.name, what, text: why, term }
    }),
    entryOf('request', t('request.term', { years: readEnv().KP_REQUESTS_YEARS })),
    ...(app.storeLocations.mail === 'folder' ? [entryOf('letters', t('letters.term'))] : []),
  ]
}

/** What remains after a deletion, in two lines; everything in detail behind a disclosure. */
export async function RetainedData() {
  const [t, privacy] = await Promise.all([getTranslations('deletion.what.stays'), getTranslations('privacy.held')])
  const backupDays = readEnv().KP_BACKUP_DAYS
  return (
    <section aria-labelledby="retained-title" className="grid gap-2">
      <h3 id="retained-title" className="font-semibold">
        {t('title')}
      </h3>
      <p>{t('lead', { days: auditDays })}</p>
      <p>{backupDays === undefined ? t('backupsOpen') : t('backups', { days: backupDays })}</p>
      <details>
        <summary className="min-h-6 cursor-pointer text-accent">{t('all')}</summary>
        <NoticeList
          id="retained-list"
          title={t('title')}
          isTitleHidden
          howLong={privacy('howLong')}
          entries={await retainedEntries()}
        />
      </details>
    </section>
  )
}
