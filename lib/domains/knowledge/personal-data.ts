import { withdrawNaming } from '#lib/domains/idempotency/writes.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { DataSource, Planned } from '#lib/kernel/data-source.ts'
import type { ErasureScope, Subject } from '#lib/kernel/erasure-scope.ts'
import type { Counts, Expiring, Periods } from '#lib/kernel/expiring.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import {
  chunked,
  holdingOf,
  type PlannedRow,
  plannedOf,
  preferIndexes,
  sumRemaining,
} from '#lib/stores/postgres/personal-tables.ts'
import {
  countById,
  countDocumentsById,
  countWithoutHold,
  deleteUnits,
  type ErasableKind,
  heldByAgents,
  identitiesOfRecords,
  lockUnits,
  recordKinds,
  recordsById,
  recordsWithHolds,
} from './erasure/repository.ts'
import { countRejectionsById, countRejectionsOf, rejectionIds, rejectionsHolding } from './moderation/repository.ts'
import {
  countExpired,
  countExpiredUnderHold,
  type ExpiringTable,
  expiringTables,
  listExpired,
  removalSql,
} from './repository.ts'
import {
  countReputation,
  eraseLedger,
  planReputation,
  reputationHolding,
  totalPrefix,
} from './reputation/repository.ts'
import { storeGains, withdraw } from './reputation/service.ts'
import { rejectionRetention } from './rules.ts'
import {
  countEmptyScopes,
  countedScopes,
  countWordsOf,
  deleteScopeCounts,
  deleteWordsOf,
  lockRecords,
  wordsHolding,
} from './search/repository.ts'
import {
  countFeedback,
  eraseFeedback,
  type FeedbackKind,
  feedbackHolding,
  unitsWithFeedback,
} from './votes/repository.ts'

/**
 * The units or skills that an erasure selects: all records of these agents, and single records by id. A legal hold on a
 * single record rejects the request before the erasure, so only records of agents are compared with holds.
 */
interface SelectedRecords {
  agents: readonly string[]
  ids: readonly string[]
}

/** The records of one kind that a scope selects. */
function selectedRecords(scope: ErasureScope, kind: ErasableKind): SelectedRecords {
  if ('subject' in scope) return { agents: scope.subject.agents, ids: [] }
  if (kind === 'unit' && 'unit' in scope) return { agents: [], ids: [scope.unit] }
  if (kind === 'skill' && 'skill' in scope) return { agents: [], ids: [scope.skill] }
  return { agents: [], ids: [] }
}

const selectsNothing = ({ agents, ids }: SelectedRecords): boolean => agents.length + ids.length === 0

/** Plans the erasure of the records of one kind that a scope selects. */
async function planRecords(scope: ErasureScope, kind: ErasableKind, tx: Transaction, now: Date): Promise<Planned> {
  const { agents, ids } = selectedRecords(scope, kind)
  const rows: PlannedRow[] = []
  if (agents.length > 0) {
    await preferIndexes(tx)
    for (const row of await recordsWithHolds(tx, { agents, now }, kind)) rows.push(row)
  }
  if (ids.length > 0) for (const row of await recordsById(tx, { ids }, kind)) rows.push(row)
  return plannedOf(rows)
}

/**
 * Removes erased records from the reputation ledger. The erasure of a single record also revokes what others gained by
 * it. The erasure of a subject keeps their gains, without naming the record. Call it last: reputations are always locked
 * last.
 */
async function removeFromReputation(
  tx: Transaction,
  erased: readonly string[],
  { agents, ids }: SelectedRecords,
  now: Date,
): Promise<void> {
  if (ids.length > 0) await withdraw(tx, erased, now)
  else await storeGains(tx, erased, agents)
}

/** The scope's subject, if it has one. */
export const erasedSubjectOf = (scope: ErasureScope): Subject | undefined =>
  'subject' in scope ? scope.subject : undefined

/** Actor ids of the subject in rows: agents by id, a person as in the audit log. */
const subjectActorsOf = ({ account, agents }: Subject): string[] => [
  ...agents,
  ...(account === null ? [] : [`user:${account}`]),
]

/**
 * Units with all data under their ids: votes, reports, SOP versions and reputation gained. Counts are in units; dependent data is deleted
 * with them. Erasing a single unit also revokes the reputation gained by it. Erasing a subject keeps what others gained by its units,
 * without naming the units.
 */
export const unitDataSource = (db: Database): DataSource => ({
  name: 'knowledge.units',
  store: 'postgresql',
  stage: 'content',
  what: 'knowledge units, with their votes, reports, versions and earned reputation',
  purpose: 'sharing knowledge, and assessing its quality',
  kept: 'by visibility, as set in the retention settings, or until they are erased',
  tables: ['units', 'sop_versions'],
  inventory: async ({ agents }) => holdingOf(await heldByAgents(db, { agents }, 'unit')),
  plan: (scope, tx, now) => planRecords(scope, 'unit', tx, now),
  async erase(scope, items, tx, options) {
    const selected = selectedRecords(scope, 'unit')
    await preferIndexes(tx)
    const locked = await lockUnits(tx, { items, ...selected })
    const found = locked.map(({ id }) => id)
    // Data under the id of a single unit is deleted even if the unit is already gone.
    const ids = [...new Set([...found, ...items.filter((item) => selected.ids.includes(item))])]
    if (ids.length === 0) return 0
    await deleteUnits(tx, ids)
    // Withdraw after the deletion, so that responses stored in the meantime are included.
    await withdrawNaming(tx, ids)
    await removeFromReputation(tx, ids, selected, options?.now ?? new Date())
    return found.length
  },
  /** Searches by author, by all data under the ids, and for single units by the ids in documents. */
  async residue(scope, items, now) {
    const selected = selectedRecords(scope, 'unit')
    const ids = [...new Set([...items, ...selected.ids])]
    if (ids.length === 0 && selectsNothing(selected)) return 0
    return sumRemaining(db, async function* (on) {
      if (selected.agents.length > 0) yield countWithoutHold(on, { agents: selected.agents, now }, 'unit')
      for (const chunk of chunked(ids)) yield countById(on, { ids: chunk }, 'unit')
      if (selected.ids.length > 0) yield countDocumentsById(on, { ids: selected.ids })
    })
  },
  identities: (items, tx) => identitiesOfRecords(tx, { ids: items }, 'unit'),
})

/** Counts of rejected contributions: agent, time and sanitizer stage. */
export const rejectionsDataSource = (db: Database): DataSource => ({
  name: 'knowledge.rejections',
  store: 'postgresql',
  stage: 'content',
  what: 'counts of contributions that were rejected because of their content',
  purpose: 'detecting repeated attempts to contribute harmful content',
  kept: '30 days',
  tables: ['content_rejections'],
  inventory: async (subject) =>
    holdingOf(await rejectionsHolding(db, { actors: subjectActorsOf(subject), retention: rejectionRetention })),
  async plan(scope, tx) {
    const subject = erasedSubjectOf(scope)
    if (!subject) return { items: [], held: {} }
    await preferIndexes(tx)
    const rows = await rejectionIds(tx, { actors: subjectActorsOf(subject) })
    return { items: rows.map(({ id }) => id), held: {} }
  },
  async erase(scope, items, tx) {
    if (!erasedSubjectOf(scope)) return 0
    return (await tx.contentRejection.deleteMany({ where: { id: { in: [...items] } } })).count
  },
  /** Searches by agent and by id. */
  async residue(scope, items) {
    const subject = erasedSubjectOf(scope)
    if (!subject) return 0
    return sumRemaining(db, async function* (on) {
      yield countRejectionsOf(on, { actors: subjectActorsOf(subject) })
      for (const ids of chunked(items)) yield countRejectionsById(on, { ids })
    })
  },
})

/** Reputation of agents: ledger rows and totals. */
export const reputationDataSource = (db: Database): DataSource => ({
  name: 'knowledge.reputation',
  store: 'postgresql',
  stage: 'content',
  what: 'reputation: points earned by contributions and votes, and their totals',
  purpose: 'weighting votes by the contributions of their voters',
  kept: 'as long as the agent exists. Points are deleted with the unit or skill that earned them',
  tables: ['reputation', 'reputation_ledger'],
  inventory: async ({ agents }) => holdingOf(await reputationHolding(db, { agents })),
  async plan(scope, tx) {
    const subject = erasedSubjectOf(scope)
    if (!subject) return { items: [], held: {} }
    await preferIndexes(tx)
    const rows = await planReputation(tx, { agents: subject.agents })
    return { items: rows.map(({ id }) => id).sort(), held: {} }
  },
  async erase(scope, items, tx) {
    const subject = erasedSubjectOf(scope)
    if (!subject) return 0
    await preferIndexes(tx)
    const entries = await eraseLedger(tx, { items, agents: subject.agents })
    const totals = items.flatMap((item) => (item.startsWith(totalPrefix) ? [item.slice(totalPrefix.length)] : []))
    const erased = totals.filter((id) => subject.agents.includes(id))
    const { count } = await tx.reputation.deleteMany({ where: { agentId: { in: erased } } })
    return entries + count
  },
  /** Searches by agent. */
  async residue(scope) {
    const subject = erasedSubjectOf(scope)
    if (!subject) return 0
    return sumRemaining(db, async function* (on) {
      yield countReputation(on, { agents: subject.agents })
    })
  },
})

const keysOf = ({ account }: Subject): string[] => (account === null ? [] : [`user:${account}`])

/**
 * Votes and reports of agents about others' units. Erasure deletes the rows. The units' sums and quarantine stay: they are others' scores
 * and are not recomputed from the rows.
 */
const feedbackDataSource = (
  db: Database,
  kind: FeedbackKind,
  described: Pick<DataSource, 'name' | 'what' | 'held' | 'purpose' | 'kept' | 'tables'>,
): DataSource => ({
  ...described,
  store: 'postgresql',
  stage: 'content',
  inventory: async (subject) => holdingOf(await feedbackHolding(db, { actors: subjectActorsOf(subject) }, kind)),
  async plan(scope, tx) {
    const subject = erasedSubjectOf(scope)
    if (!subject) return { items: [], held: {} }
    await preferIndexes(tx)
    const rows = await unitsWithFeedback(tx, { actors: subjectActorsOf(subject), keys: keysOf(subject) }, kind)
    return { items: rows.map(({ id }) => id).sort(), held: {} }
  },
  async erase(scope, units, tx) {
    const subject = erasedSubjectOf(scope)
    if (!subject) return 0
    await preferIndexes(tx)
    return eraseFeedback(tx, { actors: subjectActorsOf(subject), keys: keysOf(subject), units }, kind)
  },
  async residue(scope) {
    const subject = erasedSubjectOf(scope)
    if (!subject) return 0
    const actors = subjectActorsOf(subject)
    return sumRemaining(db, async function* (on) {
      yield countFeedback(on, { actors, keys: [...actors, ...keysOf(subject)] }, kind)
    })
  },
})

/** Votes and reports of a subject; items are unit ids. */
export const voteDataSources = (db: Database): DataSource[] => [
  feedbackDataSource(db, 'vote', {
    name: 'knowledge.votes',
    tables: ['unit_votes'],
    what: 'votes on units of others, with their comments; the units keep their scores',
    held: 'votes on units of others, with their comments',
    purpose: 'assessing the quality of shared knowledge',
    kept: 'as long as the unit, or until they are erased',
  }),
  feedbackDataSource(db, 'report', {
    name: 'knowledge.reports',
    tables: ['unit_reports'],
    what: 'reports of others’ units, with their reasons',
    held: 'reports of others’ units, with their reasons',
    purpose: 'removing harmful content',
    kept: 'as long as the unit, or until they are erased',
  }),
]

/** The row count of an agent's private scope is stored under the agent's id. It is not a word, so no bearer's deletion removes it. */
const scopesOf = (agents: readonly string[]): string[] => agents.map((agent) => `agent:${agent}`)

async function planned(scope: ErasureScope, tx: Transaction, now: Date): Promise<Planned> {
  const rows: { id: string; hold: string | null }[] = []
  for (const kind of recordKinds) {
    const { agents, ids } = selectedRecords(scope, kind)
    if (agents.length > 0) {
      await preferIndexes(tx)
      for (const row of await recordsWithHolds(tx, { agents, now }, kind)) rows.push(row)
    }
    if (ids.length > 0) for (const row of await recordsById(tx, { ids }, kind)) rows.push(row)
  }
  const { agents } = selectedRecords(scope, 'unit')
  const scopes = agents.length === 0 ? [] : await countedScopes(tx, { scopes: scopesOf(agents) })
  return plannedOf([...rows, ...scopes.map(({ id }) => ({ id, hold: null }))])
}

/**
 * Data source of the word table. An item is the id of a row whose words are deleted, or an agent's private scope; plans are stored in
 * ledgers, so they never contain words. Every word in the table names its bearer, and the database deletes it with the bearer. The index of
 * bearers therefore shows residue immediately in any process, however many words exist.
 */
export const searchWordsDataSource = (db: Database): DataSource => ({
  name: 'knowledge.words',
  store: 'postgresql',
  stage: 'derived',
  what: 'the vocabulary for correcting typing errors in searches: the words of the erased items are removed',
  held: 'the words of units and skills, for correcting typing errors in searches',
  purpose: 'making search tolerate typing errors',
  kept: 'as long as the unit or skill that contains them',
  tables: ['search_words', 'search_news'],
  inventory: async ({ agents }) => holdingOf(await wordsHolding(db, { agents, scopes: scopesOf(agents) })),
  plan: planned,
  async erase(_scope, ids, tx) {
    await preferIndexes(tx)
    // Lock the rows first, then their words, in the order used everywhere to avoid deadlocks. The rows may already be deleted.
    await lockRecords(tx, { ids }, 'unit')
    await lockRecords(tx, { ids }, 'skill')
    await deleteWordsOf(tx, { ids })
    await deleteScopeCounts(tx, { scopes: ids })
    return ids.length
  },
  async residue(scope, plan) {
    const selected = recordKinds.map((kind) => selectedRecords(scope, kind))
    const ids = [...new Set([...plan, ...selected.flatMap((one) => one.ids)])]
    const { agents } = selectedRecords(scope, 'unit')
    if (ids.length + agents.length === 0) return 0
    return sumRemaining(db, async function* (on) {
      for (const chunk of chunked(ids)) yield countWordsOf(on, { ids: chunk })
      if (agents.length > 0) yield countEmptyScopes(on, { scopes: scopesOf(agents) })
    })
  },
})

/** Skills with their files and the reputation their authors gained. Counts are in skills; dependent data is deleted with them. */
export const skillDataSource = (db: Database): DataSource => ({
  name: 'knowledge.skills',
  store: 'postgresql',
  stage: 'content',
  what: 'skills, with their files and earned reputation',
  purpose: 'sharing knowledge',
  kept: 'by visibility, as set in the retention settings, or until they are erased',
  tables: ['skills', 'skill_files'],
  inventory: async ({ agents }) => holdingOf(await heldByAgents(db, { agents }, 'skill')),
  plan: (scope, tx, now) => planRecords(scope, 'skill', tx, now),
  async erase(scope, items, tx, options) {
    const selected = selectedRecords(scope, 'skill')
    const ids = [...items]
    const isSelected = { OR: [{ agentId: { in: [...selected.agents] } }, { id: { in: [...selected.ids] } }] }
    const { count } = await tx.skill.deleteMany({ where: { id: { in: ids }, ...isSelected } })
    await preferIndexes(tx)
    await withdrawNaming(tx, ids)
    await removeFromReputation(tx, ids, selected, options?.now ?? new Date())
    return count
  },
  /** Searches files in their own table, which the foreign key should have cleared, and reputation by the skill's id. */
  async residue(scope, items, now) {
    const selected = selectedRecords(scope, 'skill')
    const ids = [...new Set([...items, ...selected.ids])]
    if (ids.length === 0 && selectsNothing(selected)) return 0
    return sumRemaining(db, async function* (on) {
      if (selected.agents.length > 0) yield countWithoutHold(on, { agents: selected.agents, now }, 'skill')
      for (const chunk of chunked(ids)) yield countById(on, { ids: chunk }, 'skill')
    })
  },
  identities: (items, tx) => identitiesOfRecords(tx, { ids: items }, 'skill'),
})

const day = 86_400_000
const visibilities = ['network', 'org', 'private'] as const

const expiringRows = (db: Database, kind: ExpiringTable): Expiring => {
  const limitsOf = (periods: Periods, now: Date) => {
    const limited = visibilities.flatMap((visibility) => {
      const days = periods[visibility]
      return days === null ? [] : [{ visibility, before: new Date(now.getTime() - days * day) }]
    })
    return { visibilities: limited.map(({ visibility }) => visibility), before: limited.map(({ before }) => before) }
  }
  const held = (periods: Periods, now: Date) => countExpiredUnderHold(db, { ...limitsOf(periods, now), now }, kind)

  return {
    name: `knowledge.${kind.table}`,
    resourceType: kind.resourceType,
    scope: kind.scope,
    removal: removalSql(kind),
    async due(periods, now): Promise<Counts> {
      const counts: Counts = { network: 0, org: 0, private: 0, held: 0 }
      const expired = await countExpired(db, limitsOf(periods, now), kind)
      for (const { visibility, n } of expired) counts[visibility] += n
      for (const { visibility, n } of await held(periods, now)) {
        counts[visibility] -= n
        counts.held += n
      }
      return counts
    },
    list: (periods, now, limit) => listExpired(db, { ...limitsOf(periods, now), now, limit }, kind),
    held: async (periods, now) => (await held(periods, now)).reduce((sum, { n }) => sum + n, 0),
  }
}

/** Deletion of expired units and skills. Dependent rows (votes, reports, versions, files) are deleted with them. */
export const knowledgeExpiry = (db: Database): Expiring[] => expiringTables.map((kind) => expiringRows(db, kind))
