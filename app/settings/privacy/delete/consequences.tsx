import { getFormatter, getLocale, getTranslations } from 'next-intl/server'
import type { Consequences as Numbers } from '#components/privacy/deletion-rules.ts'
import { Points } from '#components/privacy/notice-list.tsx'
import { PlanTable } from '#components/privacy/plan-table.tsx'
import { dataNamesIn } from '#components/stores/data-names.ts'
import { Alert } from '#components/ui/alert.tsx'
import { punctuationOf } from '#components/ui/punctuation.ts'
import { type StatTile, StatTiles } from '#components/ui/stat-tiles.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { isPseudonymized } from '#lib/domains/erasure/rules.ts'
import type { planErasure } from '#lib/domains/privacy-requests/contract.ts'
import type { Output } from '#lib/kernel/operation.ts'
import { RetainedData } from './retained-data.tsx'

type Plan = Output<typeof planErasure>['data']
type Holding = Plan['holdings'][number]

const heldOf = ({ held }: Holding): number => held.reduce((sum, { count }) => sum + count, 0)

interface ConsequencesProps {
  plan: Plan
  numbers: Numbers
  isOfAgent: boolean
}

/** The result of a dry run: what is deleted, what is retained and why, and what cannot be undone. */
export async function ConsequenceList(props: ConsequencesProps) {
  const { numbers, plan } = props
  const [t, format] = await Promise.all([getTranslations('deletion.what'), getFormatter()])
  const { gone, changed, held } = numbers
  const tiles: StatTile[] = [
    { label: t('tiles.gone'), value: format.number(gone) },
    ...(changed > 0 ? [{ label: t('tiles.changed'), value: format.number(changed) }] : []),
    ...(held > 0 ? [{ label: t('tiles.held'), value: format.number(held), tone: 'warning' as const }] : []),
  ]
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-6">
      <StatTiles tiles={tiles} />
      {held > 0 && (
        <Alert tone="warning" title={t('held.title', { count: held })}>
          <p>{t('held.text')}</p>
        </Alert>
      )}
      <Deleted {...props} />
      <RetainedData retained={plan.retained} />
      <section aria-labelledby="final-title" className="grid gap-2">
        <h3 id="final-title" className="font-semibold">
          {t('final.title')}
        </h3>
        <Points points={(['back', 'copies'] as const).map((key) => [key, t(`final.items.${key}`)] as const)} />
      </section>
    </div>
  )
}

/** What is deleted or pseudonymized, in a few lines, with all categories behind a disclosure. */
async function Deleted({ plan, numbers, isOfAgent }: ConsequencesProps) {
  const [t, names, locale] = await Promise.all([
    getTranslations('deletion.what'),
    getTranslations('dataNames').then(dataNamesIn),
    getLocale(),
  ])
  const { colon } = punctuationOf(locale)
  const { gone, others } = numbers
  const { remaining_projects: remaining = 0, unclaimed_participations: unclaimed = 0 } = plan
  const items = (['units', 'skills', 'agents', 'tokens', 'projects'] as const)
    .filter((key) => numbers[key] > 0)
    .map((key) => [key, t(`items.${key}`, { count: numbers[key] })] as const)
  const changed = (['mentions', 'requests', 'owners'] as const).filter((key) => numbers[key] > 0)
  const rows = plan.holdings
    .filter((one) => one.count > 0 || heldOf(one) > 0)
    .toSorted((one, other) => other.count - one.count)
    .map((one) => ({
      key: one.holder,
      what: names.erasedRecords(one.holder, one.what),
      deleted: isPseudonymized(one.holder) ? 0 : one.count,
      changed: isPseudonymized(one.holder) ? one.count : 0,
      held: heldOf(one),
    }))
  return (
    <section aria-labelledby="deleted-title" className="grid gap-2">
      <h3 id="deleted-title" className="sr-only">
        {t('list')}
      </h3>
      {gone === 0 ? (
        <p>{t('nothing')}</p>
      ) : (
        <Points
          points={[
            ...(isOfAgent ? [] : [['account', t('items.account')] as const]),
            ...items,
            ...(others > 0
              ? [['others', t(isOfAgent ? 'items.othersAgent' : 'items.others', { count: others })] as const]
              : []),
          ]}
        />
      )}
      {!isOfAgent && remaining > 0 && <p>{t('projectsLeft', { count: remaining })}</p>}
      {!isOfAgent && unclaimed > 0 && (
        <p>
          {t('unclaimed', { count: unclaimed })} <TextLink href="/settings/privacy">{t('claim')}</TextLink>
        </p>
      )}
      {changed.length > 0 && (
        <p>
          {`${t('changed')}${colon}`}
          {changed.map((key) => t(key, { count: numbers[key] })).join(' ')}
        </p>
      )}
      <details>
        <summary className="min-h-6 cursor-pointer text-accent">{t('table', { count: rows.length })}</summary>
        <div className="mt-2">
          <PlanTable rows={rows} />
        </div>
      </details>
    </section>
  )
}
