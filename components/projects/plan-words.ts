import { useFormatter, useTranslations } from 'next-intl'
import { useDataNames } from '#components/stores/data-names.ts'
import { kindKey, matchReasonKey, reasonKey, type StorePlan } from './plan-rules.ts'

/** Translates the codes of a plan. A reason without a translation is shown as it is. */
export function usePlanWords() {
  const t = useTranslations('projects.plan')
  const common = useTranslations('common')
  const format = useFormatter()
  const names = useDataNames()
  const entityParts = ({ entities }: StorePlan): string[] =>
    entities.map(({ group, count, label }) =>
      label === undefined ? t(`entity.${group}`, { count }) : t('entity.keptOf', { count, label }),
    )
  return {
    kind: (kind: string) => {
      const key = kindKey(kind)
      return key ? t(`kinds.${key}`) : kind
    },
    reason: (reason: string) => {
      const key = reasonKey(reason)
      return key ? t(`reasons.${key}`) : reason
    },
    /** Several ways are separated by commas. */
    found: (found: string) =>
      format.list(
        found.split(', ').map((way) => {
          const key = matchReasonKey(way)
          return key ? t(`found.${key}`) : way
        }),
      ),
    /** "31 graph entities: 4 people go, 12 have no other source and go, …"; undefined if there are none. */
    entities: (plan: StorePlan): string | undefined => {
      const count = plan.entities.reduce((sum, one) => sum + one.count, 0)
      return count === 0
        ? undefined
        : t('entities', { count, parts: format.list(entityParts(plan), { style: 'narrow' }) })
    },
    /** The other items: kinds by verdict, or data sources if the items were not judged one by one. */
    rest: ({ parts, holders }: StorePlan): string | undefined => {
      const said =
        parts.length > 0
          ? parts.map(({ kind, verdict, count }) => t(`part.${verdict}`, { kind, what: t(`count.${kind}`, { count }) }))
          : holders.map(({ holder, items }) => common('nameCount', { name: names.erasedRecords(holder), count: items }))
      return said.length === 0 ? undefined : format.list(said)
    },
  }
}
