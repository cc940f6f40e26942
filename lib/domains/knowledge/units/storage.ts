import { award } from '#lib/domains/knowledge/reputation/award.ts'
import { rejectionsToQuarantine, rejectionWindow } from '#lib/domains/knowledge/rules.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { queryWithin } from '#lib/stores/postgres/database.ts'
import { hasSqlState } from '#lib/stores/postgres/fault.ts'
import type { PreparedUnit } from './preparation.ts'

export interface StorableUnit extends PreparedUnit {
  /** The author in the registry that the unit was imported from. */
  originalAuthor?: string | null
}
export interface StorageOptions {
  organisationId: string
  now: Date
}
/** Outcome per id. Ids in none of the sets were not passed in. */
export interface Storage {
  stored: Set<string>
  /** Subset of `stored`. */
  quarantined: Set<string>
  inUse: Set<string>
  erased: Set<string>
}

/** Columns and types of a row of {@link insertUnits}. */
const columns = [
  ['id', 'text'],
  ['type', 'unit_type'],
  ['attributed', 'text'],
  ['original', 'text'],
  ['visibility', 'visibility'],
  ['domain', 'text'],
  ['document', 'jsonb'],
  ['quality', 'float8'],
  ['search', 'tsvector'],
] as const
const valuesOf = (unit: StorableUnit): unknown[] => [
  unit.id,
  unit.type,
  unit.attributedTo,
  unit.originalAuthor ?? null,
  unit.visibility,
  unit.domain,
  unit.json,
  unit.quality,
  unit.search,
]
/**
 * $1: author; $2: organisation; $3: current time; $4: start of the rejection window; $5: rejections that cause quarantine; $6: ids; then
 * the rows.
 */
const common = 6

/**
 * One statement for `count` units and the first versions of SOPs. Ids in use or erased are skipped and reported. Rows are ordered by id, so
 * that concurrent requests with the same ids wait instead of deadlocking. Values are separate parameters, because the database would parse
 * a document within a larger one twice.
 */
const insertUnits = (count: number): string => {
  const row = (n: number): string =>
    `(${columns.map(([, type], at) => `$${common + n * columns.length + at + 1}${n === 0 ? `::${type}` : ''}`).join(', ')})`
  return `WITH sent (${columns.map(([name]) => name).join(', ')}) AS MATERIALIZED (VALUES ${Array.from({ length: count }, (_, n) => row(n)).join(', ')}),
gone AS MATERIALIZED (SELECT id FROM erased_records WHERE id = ANY($6::text[])),
stored AS (
  INSERT INTO units (id, type, agent_id, organisation_id, attributed_to, original_author, visibility, domain, document, quality_score, search, quarantined_at, created_at, updated_at)
  SELECT s.id, s.type, $1, $2, s.attributed, s.original, s.visibility, s.domain, s.document, s.quality, s.search,
    CASE WHEN (SELECT count(*) FROM content_rejections c WHERE c.agent_id = $1 AND c.at > $4::timestamptz) >= $5::int THEN $3::timestamptz END,
    $3::timestamptz, $3::timestamptz
  FROM sent s WHERE s.id NOT IN (SELECT id FROM gone)
  ON CONFLICT (id) DO NOTHING RETURNING id, quarantined_at IS NOT NULL AS quarantined),
wordings AS (
  INSERT INTO sop_versions (unit_id, version, document, created_by, created_at)
  SELECT s.id, 1, s.document, $1, $3::timestamptz FROM sent s JOIN stored USING (id) WHERE s.type = 'ExpertSOP')
SELECT id, true AS stored, quarantined, false AS erased FROM stored UNION ALL SELECT id, false, false, true FROM gone`
}
const statements = new Map<number, string>()
const statementFor = (count: number): string => {
  const text = statements.get(count) ?? insertUnits(count)
  statements.set(count, text)
  return text
}

interface Fate {
  id: string
  stored: boolean
  quarantined: boolean
  erased: boolean
}

const inOrder = (one: { id: string }, other: { id: string }): number =>
  one.id < other.id ? -1 : one.id > other.id ? 1 : 0

/**
 * Stores prepared units of one author with distinct ids, with their search words and first SOP versions, in the caller's transaction. The
 * author must be an agent of the organisation. The caller writes audit entries and calls {@link awardStored}.
 */
export async function storeUnits(
  tx: Transaction,
  units: readonly StorableUnit[],
  { organisationId, now }: StorageOptions,
): Promise<Storage> {
  const ordered = units.toSorted(inOrder)
  const [first] = ordered
  if (!first) return { stored: new Set(), quarantined: new Set(), inUse: new Set(), erased: new Set() }
  const ids = ordered.map(({ id }) => id)
  const since = new Date(now.getTime() - rejectionWindow)
  const values = [first.author, organisationId, now, since, rejectionsToQuarantine, ids, ...ordered.flatMap(valuesOf)]
  const insert = () => queryWithin<Fate>(tx, `store-${ids.length}-units`, statementFor(ids.length), values)
  await queryWithin(tx, 'storing', 'SAVEPOINT storing', [])
  const fates = await insert().catch(async (error: unknown) => {
    // An erasure committed while the statement waited for one of its ids; the second attempt sees it.
    if (!hasSqlState(error, 'KP410')) throw error
    await tx.$executeRawUnsafe('ROLLBACK TO SAVEPOINT storing')
    return insert()
  })
  const which = (is: (fate: Fate) => boolean) => new Set(fates.filter(is).map(({ id }) => id))
  const stored = which((fate) => fate.stored)
  const erased = which((fate) => fate.erased)
  return {
    stored,
    erased,
    quarantined: which((fate) => fate.quarantined),
    inUse: new Set(ids.filter((id) => !stored.has(id) && !erased.has(id))),
  }
}

/** Awards the author reputation for stored units; quarantined units earn nothing yet. Locks the author's reputation, so call it last. */
export async function awardStored(
  tx: Transaction,
  author: string,
  units: readonly StorableUnit[],
  { stored, quarantined }: Pick<Storage, 'stored' | 'quarantined'>,
  now: Date,
): Promise<void> {
  const earning = units.filter(({ id }) => stored.has(id) && !quarantined.has(id))
  const idsOf = (isSop: boolean) => earning.filter(({ type }) => (type === 'ExpertSOP') === isSop).map(({ id }) => id)
  await award(tx, author, 'unit', idsOf(false), now)
  await award(tx, author, 'sop', idsOf(true), now)
}
