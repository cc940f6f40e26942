import type { PlannedRecord } from '#lib/kernel/data-source.ts'

export const outcomes = ['deleted', 'changed', 'kept', 'untouched'] as const
/** Groups in which the totals count entities of a graph. */
export const entityGroups = ['person', 'personal', 'unknown', 'unreferenced', 'deleted', 'kept', 'untouched'] as const
export type EntityGroup = (typeof entityGroups)[number]
export const businessLabels = ['Company', 'Deal', 'Document', 'FinancialMetric', 'Finding', 'Risk'] as const
export type BusinessLabel = (typeof businessLabels)[number]

/** The labels do not determine a type, so the entity counts as a person. */
const isOfNoType = (evidence: string): boolean => evidence === 'label:none' || evidence.endsWith(' unknown')
const isOfPerson = (evidence: string): boolean => /^(label|mapping|attribute):/.test(evidence) && !isOfNoType(evidence)

type PlannedDecision = Pick<PlannedRecord, 'kind' | 'verdict' | 'reason' | 'evidence'>
export function entityGroupOf({ verdict, reason, evidence }: Omit<PlannedDecision, 'kind'>): EntityGroup {
  if (verdict === 'untouched') return 'untouched'
  // Erased descriptions are removed, but the entity remains because other sources mention it.
  if (verdict !== 'deleted') return 'kept'
  if (reason === 'unreferenced') return 'unreferenced'
  if (reason !== 'pii') return 'deleted'
  if (evidence.some(isOfPerson)) return 'person'
  return evidence.some((one) => one.startsWith('pattern:')) ? 'personal' : 'unknown'
}
const labelOf = ({ evidence }: Pick<PlannedDecision, 'evidence'>): BusinessLabel | null =>
  businessLabels.find((label) => evidence.includes(`label:${label}`)) ?? null

/** How many records of one kind have the same decision. */
export interface Total {
  store: string
  kind: string
  verdict: PlannedRecord['verdict']
  /** Null unless the records are entities. */
  group: EntityGroup | null
  /** Null unless the records are entities that remain. */
  label: BusinessLabel | null
  count: number
}

/** In the order of first occurrence. */
export function totalsOf(decisions: readonly (PlannedDecision & Pick<PlannedRecord, 'store'>)[]): Total[] {
  const totals = new Map<string, Total>()
  for (const one of decisions) {
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
