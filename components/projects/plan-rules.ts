import type { Plan, Verdict } from './places.ts'

/** What becomes of a graph's entities, in the groups in which people ask about them. */
export const entityGroups = ['person', 'personal', 'unknown', 'unreferenced', 'deleted', 'kept', 'untouched'] as const
export type EntityGroup = (typeof entityGroups)[number]

type Judged = Pick<Verdict, 'kind' | 'verdict' | 'reason' | 'evidence'>

const isOfPerson = (evidence: string): boolean => /^(label|mapping|attribute):/.test(evidence) && !isOfNoType(evidence)
/** Its labels say nothing, so that it counts as a person. */
const isOfNoType = (evidence: string): boolean => evidence === 'label:none' || evidence.endsWith(' unknown')

export function entityGroupOf({ verdict, reason, evidence }: Judged): EntityGroup {
  if (verdict === 'untouched') return 'untouched'
  // What was told of it goes, the entity stays: because others mention it.
  if (verdict !== 'deleted') return 'kept'
  if (reason === 'unreferenced') return 'unreferenced'
  if (reason !== 'pii') return 'deleted'
  if (evidence.some(isOfPerson)) return 'person'
  return evidence.some((one) => one.startsWith('pattern:')) ? 'personal' : 'unknown'
}

const businessLabels = ['Company', 'Deal', 'Document', 'FinancialMetric', 'Finding', 'Risk'] as const
export type BusinessLabel = (typeof businessLabels)[number]
/** What all of them are, where their evidence says so of each. */
export function commonLabel(verdicts: readonly Judged[]): BusinessLabel | undefined {
  const labelled = businessLabels.find((label) => verdicts[0]?.evidence.includes(`label:${label}`))
  return labelled && verdicts.every(({ evidence }) => evidence.includes(`label:${labelled}`)) ? labelled : undefined
}

const partKinds = ['group', 'episode', 'fact', 'summary', 'thread', 'checkpoint', 'key', 'object', 'row'] as const
export type PartKind = (typeof partKinds)[number] | 'other'
const sameAs: Record<string, PartKind> = {
  community: 'summary',
  saga: 'summary',
  message: 'checkpoint',
  memory: 'other',
  document: 'row',
}
const partKindOf = ({ kind, store }: Pick<Verdict, 'kind' | 'store'>): PartKind => {
  // A message is a row of ours, and part of a thread in checkpoints.
  if (kind === 'message' && store !== 'checkpoints') return 'row'
  return partKinds.find((one) => one === kind) ?? (Object.hasOwn(sameAs, kind) ? sameAs[kind] : undefined) ?? 'other'
}

export interface Part {
  kind: PartKind
  verdict: Verdict['verdict']
  count: number
}
export interface StorePlan {
  store: string
  /** How much goes: things that are judged, or the records that are planned. */
  goes: number
  /** Records that a hold keeps. */
  held: number
  /** Of a graph: its entities by group, in the order of {@link entityGroups}. */
  entities: { group: EntityGroup; count: number; label?: BusinessLabel }[]
  parts: Part[]
  /** Of each holder that has some: for a store whose every single thing is not judged. */
  holders: { holder: string; items: number }[]
}
type Planned = Pick<Plan['planned'][number], 'store' | 'holder' | 'items' | 'held'>
/** Every single thing there is judged: what is planned has places in it that are only searched. */
const judgedStores = new Set(['graph', 'cache', 'objects'])
const outcomes = ['deleted', 'changed', 'kept', 'untouched'] as const

/** A plan store by store, in the order in which the stores have their turn; those with nothing in them last. */
export function plansByStore(planned: readonly Planned[], verdicts: readonly Verdict[]): StorePlan[] {
  const stores = [...new Set([...planned, ...verdicts].map(({ store }) => store))]
  return stores
    .map((store) => {
      const rows = planned.filter((one) => one.store === store)
      const judged = verdicts.filter((one) => one.store === store)
      const entities = judged.filter(({ kind }) => kind === 'entity')
      const counts = new Map<string, Part>()
      for (const one of judged) {
        if (one.kind === 'entity') continue
        const kind = partKindOf(one)
        const before = counts.get(`${kind} ${one.verdict}`)
        counts.set(`${kind} ${one.verdict}`, { kind, verdict: one.verdict, count: (before?.count ?? 0) + 1 })
      }
      return {
        store,
        goes: judgedStores.has(store)
          ? judged.filter((one) => one.verdict === 'deleted').length
          : rows.reduce((sum, { items }) => sum + items, 0),
        held: rows.reduce((sum, { held }) => sum + held, 0),
        entities: entityGroups.flatMap((group) => {
          const own = entities.filter((one) => entityGroupOf(one) === group)
          const label = group === 'kept' ? commonLabel(own) : undefined
          return own.length === 0 ? [] : [{ group, count: own.length, ...(label && { label }) }]
        }),
        parts: [...counts.values()].toSorted(
          (one, other) => outcomes.indexOf(one.verdict) - outcomes.indexOf(other.verdict),
        ),
        holders: rows.flatMap(({ holder, items }) =>
          items === 0 || judgedStores.has(store) ? [] : [{ holder, items }],
        ),
      }
    })
    .toSorted((one, other) => Number(isEmpty(one)) - Number(isEmpty(other)))
}
export const goingIn = (plans: readonly Pick<StorePlan, 'goes'>[]): number =>
  plans.reduce((sum, { goes }) => sum + goes, 0)
export const isEmpty = ({ goes, held, entities, parts }: StorePlan): boolean =>
  goes === 0 && held === 0 && entities.length === 0 && parts.length === 0

export const verdictViews = ['all', ...outcomes] as const
export type VerdictView = (typeof verdictViews)[number]
/** Those of a view that have what was typed in their name, id, reason or evidence. */
export function filtered(verdicts: readonly Verdict[], view: VerdictView, typed: string): Verdict[] {
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
] as const
const reasons = [
  'pii',
  'unreferenced',
  'orphaned',
  'source',
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
] as const
const ways = ['pointer', 'thread', 'group', 'text', 'tools', 'row', 'key'] as const
/** Where the words on a code of a verdict stand; undefined: there are none, and it is shown as it is. */
export const kindKey = (kind: string) => kinds.find((one) => one === kind)
export const reasonKey = (reason: string) => reasons.find((one) => one === reason)
export const foundKey = (found: string) => ways.find((one) => one === found)
