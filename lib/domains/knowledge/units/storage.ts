import { award } from '#lib/domains/knowledge/reputation/award.ts'
import { rejectionWindow } from '#lib/domains/knowledge/rules.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { hasSqlState } from '#lib/stores/postgres/fault.ts'
import { type PreparedUnit, storedInstructions } from './preparation.ts'
import { insertUnits, mostInsertedUnits, rollBackStoring, setStoringSavepoint } from './repository.ts'

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

const inOrder = (one: { id: string }, other: { id: string }): number =>
  one.id < other.id ? -1 : one.id > other.id ? 1 : 0

/** Stores units in one statement, and once more if an erasure was committed while the statement waited for one of its ids. */
async function insert(tx: Transaction, units: readonly StorableUnit[], { organisationId, now }: StorageOptions) {
  const since = new Date(now.getTime() - rejectionWindow)
  const rows = units.map((unit) => ({
    id: unit.id,
    type: unit.type,
    attributed: unit.attributedTo,
    original: unit.originalAuthor ?? null,
    visibility: unit.visibility,
    domain: unit.domain,
    document: unit.json,
    quality: unit.quality,
    search: unit.search,
    instructions: storedInstructions(unit),
  }))
  const attempt = () =>
    insertUnits(tx, { author: units[0]?.author ?? '', organisation: organisationId, now, since }, rows)
  await setStoringSavepoint(tx, {})
  return attempt().catch(async (error: unknown) => {
    if (!hasSqlState(error, 'KP410')) throw error
    await rollBackStoring(tx, {})
    return attempt()
  })
}

/**
 * Stores prepared units of one author with distinct ids, with their search words and first SOP versions, in the caller's transaction. The
 * author must be an agent of the organisation. The caller writes audit entries and calls {@link awardStored}.
 */
export async function storeUnits(
  tx: Transaction,
  units: readonly StorableUnit[],
  options: StorageOptions,
): Promise<Storage> {
  const ordered = units.toSorted(inOrder)
  const fates: Awaited<ReturnType<typeof insert>> = []
  for (let start = 0; start < ordered.length; start += mostInsertedUnits)
    fates.push(...(await insert(tx, ordered.slice(start, start + mostInsertedUnits), options)))
  const idsOf = (is: (fate: (typeof fates)[number]) => boolean) => new Set(fates.filter(is).map(({ id }) => id))
  const stored = idsOf((fate) => fate.stored)
  const erased = idsOf((fate) => fate.erased)
  return {
    stored,
    erased,
    quarantined: idsOf((fate) => fate.quarantined),
    inUse: new Set(ordered.flatMap(({ id }) => (stored.has(id) || erased.has(id) ? [] : [id]))),
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
