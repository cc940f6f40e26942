import { getFormatter, getTranslations } from 'next-intl/server'
import { inventoryTexts } from '#app/settings/privacy/inventory-texts.ts'
import type { Consequences as Numbers } from '#components/privacy/deletion-rules.ts'
import { staying } from '#components/privacy/inventory-rules.ts'
import { type NoticeEntry, NoticeList, Points } from '#components/privacy/notice-list.tsx'
import { PlanTable } from '#components/privacy/plan-table.tsx'
import { Alert } from '#components/ui/alert.tsx'
import { app } from '#lib/app-instance.ts'
import { readEnv } from '#lib/config/env.ts'
import { auditDays } from '#lib/domains/audit/rules.ts'
import type { planErasure } from '#lib/domains/privacy-requests/contract.ts'
import type { Output } from '#lib/kernel/operation.ts'

type Holding = Output<typeof planErasure>['data']['holdings'][number]
type Words = Awaited<ReturnType<typeof inventoryTexts>>

const heldOf = ({ held }: Holding): number => held.reduce((sum, { count }) => sum + count, 0)

/** Records that an erasure retains, each with the reason and the end of its retention. */
async function stayingEntries(words: Words): Promise<NoticeEntry[]> {
  const t = await getTranslations('deletion.what.stays')
  const env = readEnv()
  const kept = staying(app.retainedRecords.map((one) => ({ ...one, count: 0, since: null, until: null, where: '' })))
  const entryOf = (key: 'request' | 'letters' | 'backups', term: string): NoticeEntry => ({
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
    entryOf('request', t('request.term', { years: env.KP_REQUESTS_YEARS })),
    ...(app.storeLocations.mail === 'folder' ? [entryOf('letters', t('letters.term'))] : []),
    entryOf(
      'backups',
      env.KP_BACKUP_DAYS === undefined ? t('backups.noTerm') : t('backups.term', { days: env.KP_BACKUP_DAYS }),
    ),
  ]
}

/** The result of a dry run: what is erased, what is retained and why, and what cannot be undone. */
export async function ConsequenceList({
  holdings,
  numbers,
  agent,
}: {
  holdings: readonly Holding[]
  numbers: Numbers
  /** The name of the agent when only one agent is erased. */
  agent: string | undefined
}) {
  const [t, format, words] = await Promise.all([getTranslations('deletion.what'), getFormatter(), inventoryTexts()])
  const privacy = await getTranslations('privacy.held')
  const rows = holdings
    .filter((one) => one.count > 0 || heldOf(one) > 0)
    .toSorted((one, other) => other.count - one.count)
    .map((one) => ({
      key: one.holder,
      what: words.of(one.holder, { what: one.what, purpose: '', kept: '' }).what,
      count: format.number(one.count),
      held: heldOf(one) > 0 ? format.number(heldOf(one)) : '',
    }))
  const { gone, held, mentions, requests } = numbers
  return (
    <div className="grid gap-8">
      <div className="grid gap-3">
        {gone === 0 ? (
          <p>{t('nothing')}</p>
        ) : (
          <p className="text-lg">
            {agent === undefined ? t('person', { ...numbers }) : t('agent', { ...numbers, agent })}
          </p>
        )}
        {mentions > 0 && <p>{t('mentions', { count: mentions })}</p>}
        {requests > 0 && <p>{t('requests', { count: requests })}</p>}
        <p className="text-quiet">{t('everywhere')}</p>
        <details>
          <summary className="cursor-pointer text-accent">{t('table')}</summary>
          <div className="mt-2">
            <PlanTable rows={rows} />
          </div>
        </details>
      </div>
      {held > 0 && (
        <Alert tone="warning" title={t('held.title', { count: held })}>
          <p>{t('held.text')}</p>
        </Alert>
      )}
      <section aria-labelledby="stays-title" className="grid gap-1">
        <h3 id="stays-title" className="text-lg font-semibold">
          {t('stays.title')}
        </h3>
        <p className="text-quiet">{t('stays.lead')}</p>
        <p>{t('stays.audit', { days: auditDays })}</p>
        <details>
          <summary className="cursor-pointer text-accent">{t('stays.all')}</summary>
          <NoticeList
            id="stays-list"
            title={t('stays.list')}
            howLong={privacy('howLong')}
            entries={await stayingEntries(words)}
          />
        </details>
      </section>
      <section aria-labelledby="final-title" className="grid gap-2">
        <h3 id="final-title" className="text-lg font-semibold">
          {t('final.title')}
        </h3>
        <Points
          points={(['back', 'ids', 'copies', 'return'] as const).map((key) => [key, t(`final.items.${key}`)] as const)}
        />
      </section>
    </div>
  )
}
