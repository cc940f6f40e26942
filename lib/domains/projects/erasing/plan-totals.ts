import type { Verdict } from '#lib/kernel/holder.ts'

export const outcomes = ['deleted', 'changed', 'kept', 'untouched'] as const
/** What becomes of a graph's entities, in the groups in which people ask about them. */
export const entityGroups = ['person', 'personal', 'unknown', 'unreferenced', 'deleted', 'kept', 'untouched'] as const
export type EntityGroup = (typeof entityGroups)[number]
export const businessLabels = ['Company', 'Deal', 'Document', 'FinancialMetric', 'Finding', 'Risk'] as const
export type BusinessLabel = (typeof businessLabels)[number]

/** Its labels say nothing, so that it counts as a person. */
const isOfNoType = (evidence: string): boolean => evidence === 'label:none' || evidence.endsWith(' unknown')
const isOfPerson = (evidence: string): boolean => /^(label|mapping|attribute):/.test(evidence) && !isOfNoType(evidence)

type Judged = Pick<Verdict, 'kind' | 'verdict' | 'reason' | 'evidence'>
export function entityGroupOf({ verdict, reason, evidence }: Omit<Judged, 'kind'>): EntityGroup {
  if (verdict === 'untouched') return 'untouched'
  // What was told of it goes, the entity stays: because others mention it.
  if (verdict !== 'deleted') return 'kept'
  if (reason === 'unreferenced') return 'unreferenced'
  if (reason !== 'pii') return 'deleted'
  if (evidence.some(isOfPerson)) return 'person'
  return evidence.some((one) => one.startsWith('pattern:')) ? 'personal' : 'unknown'
}
const labelOf = ({ evidence }: Pick<Judged, 'evidence'>): BusinessLabel | null =>
  businessLabels.find((label) => evidence.includes(`label:${label}`)) ?? null

/** Of how many things the same becomes. */
export interface Total {
  store: string
  kind: string
  verdict: Verdict['verdict']
  /** Of entities alone. */
  group: EntityGroup | null
  /** Of entities that stay. */
  label: BusinessLabel | null
  count: number
}

/** In the order in which each first came. */
export function totalsOf(verdicts: readonly (Judged & Pick<Verdict, 'store'>)[]): Total[] {
  const totals = new Map<string, Total>()
  for (const one of verdicts) {
    const { store, kind, verdict } = one
    const group = kind === 'entity' ? entityGroupOf(one) : null
    const label = group === 'kept' ? labelOf(one) : null
    const key = JSON.stringify([store, kind, verdict, group, label])
    const total = totals.get(key) ?? { store, kind, verdict, group, label, count: 0 }
    total.count++
    totals.set(key, total)
  }
  return [...totals.values()]
}
