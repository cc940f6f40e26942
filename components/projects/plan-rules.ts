import type { PartErasurePlan, PlanDecision } from './endpoints.ts'

const partKinds = [
  'group',
  'episode',
  'fact',
  'summary',
  'thread',
  'checkpoint',
  'key',
  'object',
  'row',
  'reference',
] as const
export type PlanPartKind = (typeof partKinds)[number] | 'other'
const sameAs: Record<string, PlanPartKind> = {
  community: 'summary',
  saga: 'summary',
  message: 'checkpoint',
  memory: 'other',
  document: 'row',
  conversation: 'row',
}
const partKindOf = ({ kind, store }: Pick<PlanDecision, 'kind' | 'store'>): PlanPartKind => {
  // A message is a row in PostgreSQL, but part of a thread in the checkpoint store.
  if (kind === 'message' && store !== 'checkpoints') return 'row'
  return partKinds.find((one) => one === kind) ?? (Object.hasOwn(sameAs, kind) ? sameAs[kind] : undefined) ?? 'other'
}

export interface PlanPart {
  kind: PlanPartKind
  verdict: PlanDecision['verdict']
  count: number
}
type Total = PartErasurePlan['totals'][number]
type EntityGroup = NonNullable<Total['group']>
type Label = NonNullable<Total['label']>
export interface StorePlan {
  store: string
  /** Number of deletions: judged items, or planned records. */
  goes: number
  /** Records that a legal hold retains. */
  held: number
  /** Graph entities by group, in the order of {@link entityGroups}. `label` is set if all of a group have the same label. */
  entities: { group: EntityGroup; count: number; label?: Label }[]
  parts: PlanPart[]
  /** Data sources with records, for a store whose items are not judged one by one. */
  holders: { holder: string; items: number }[]
  /** The store does not answer, or a store with data is switched off: it may contain more. */
  isUnanswered: boolean
}
/** Groups of graph entities, in display order. */
const entityGroups = [
  'person',
  'personal',
  'unknown',
  'unreferenced',
  'deleted',
  'kept',
  'untouched',
] as const satisfies EntityGroup[]
/** Every item in these stores is judged. Their planned counts include places that are only searched. */
const judgedStores = new Set(['graph', 'cache', 'objects'])
const outcomes = ['deleted', 'changed', 'kept', 'untouched'] as const

const sum = (counted: readonly { count: number }[]): number => counted.reduce((all, { count }) => all + count, 0)

function entitiesOf(totals: readonly Total[]): StorePlan['entities'] {
  return entityGroups.flatMap((group) => {
    const own = totals.filter((one) => one.group === group)
    const [first] = own
    const label = own.every((one) => one.label === first?.label) ? first?.label : null
    return first ? [{ group, count: sum(own), ...(label && { label }) }] : []
  })
}
function partsOf(totals: readonly Total[]): PlanPart[] {
  const parts = new Map<string, PlanPart>()
  for (const total of totals) {
    if (total.group !== null) continue
    const kind = partKindOf(total)
    const key = `${kind} ${total.verdict}`
    parts.set(key, { kind, verdict: total.verdict, count: (parts.get(key)?.count ?? 0) + total.count })
  }
  return [...parts.values()].toSorted((one, other) => outcomes.indexOf(one.verdict) - outcomes.indexOf(other.verdict))
}

/** The plan by store, in processing order, with empty stores last. */
export function plansByStore({
  planned,
  totals,
  unanswered,
}: Pick<PartErasurePlan, 'planned' | 'totals' | 'unanswered'>): StorePlan[] {
  const stores = [...new Set([...planned, ...totals].map(({ store }) => store)).union(new Set(unanswered))]
  return stores
    .map((store) => {
      const rows = planned.filter((one) => one.store === store)
      const own = totals.filter((one) => one.store === store)
      const isJudged = judgedStores.has(store)
      return {
        store,
        goes: isJudged
          ? sum(own.filter(({ verdict }) => verdict === 'deleted'))
          : rows.reduce((all, { items }) => all + items, 0),
        held: rows.reduce((all, { held }) => all + held, 0),
        entities: entitiesOf(own),
        parts: partsOf(own),
        holders: rows.flatMap(({ holder, items }) => (items === 0 || isJudged ? [] : [{ holder, items }])),
        isUnanswered: unanswered.includes(store),
      }
    })
    .toSorted((one, other) => Number(isEmptyPlan(one)) - Number(isEmptyPlan(other)))
}
export const goingIn = (plans: readonly Pick<StorePlan, 'goes'>[]): number =>
  plans.reduce((all, { goes }) => all + goes, 0)
export const isEmptyPlan = ({ goes, held, entities, parts, isUnanswered }: StorePlan): boolean =>
  goes === 0 && held === 0 && entities.length === 0 && parts.length === 0 && !isUnanswered

export const decisionViews = ['all', ...outcomes] as const
export type DecisionView = (typeof decisionViews)[number]
/** The verdicts of a view that contain the text in name, id, kind, reason or evidence. */
export function filtered(verdicts: readonly PlanDecision[], view: DecisionView, typed: string): PlanDecision[] {
  const wanted = typed.trim().toLowerCase()
  return verdicts.filter(
    ({ verdict, id, name, kind, reason, evidence }) =>
      (view === 'all' || verdict === view) &&
      (wanted === '' ||
        [id, name ?? '', kind, reason, ...evidence].some((text) => text.toLowerCase().includes(wanted))),
  )
}

const kinds = [
  'episode',
  'fact',
  'entity',
  'community',
  'saga',
  'thread',
  'message',
  'key',
  'object',
  'group',
  'memory',
  'document',
  'conversation',
  'reference',
] as const
const reasons = [
  'pii',
  'unreferenced',
  'orphaned',
  'source',
  'cut',
  'judged_again',
  'other_author',
  'words',
  'shared',
  'wording',
  'endpoint',
  'built_on_source',
  'foreign_group',
  'foreign',
  'validity_restored',
  'superseded',
  'ended_before',
  'may_have_been_ended',
  'whole',
  'unreadable',
  'held',
  'around',
  'outside',
] as const
const ways = ['pointer', 'thread', 'group', 'text', 'tools', 'row', 'prefix', 'index'] as const
/** Message keys for the codes of a verdict; undefined for an unknown code, which is shown as it is. */
export const kindKey = (kind: string) => kinds.find((one) => one === kind)
export const reasonKey = (reason: string) => reasons.find((one) => one === reason)
export const matchReasonKey = (found: string) => ways.find((one) => one === found)
