import { type FieldFindings, personalWarnings, scanFields, secretIn } from '#lib/domains/pii/fields.ts'
import {
  type InstructionField,
  instructionFields,
  instructionWarnings,
  type SanitizedPlace,
  sanitizedPlaces,
} from '#lib/domains/sanitizer/contract.ts'
import { sanitizeFields } from '#lib/domains/sanitizer/fields.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { newUuid } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { hasSqlState } from '#lib/stores/postgres/fault.ts'
import { award } from '../reputation/award.ts'
import { attributedTo, qualityOf, rejectionWindow, warningsOf } from '../rules.ts'
import { weightedTextsOf } from '../search/unit-texts.ts'
import { searchVector } from '../search/vector.ts'
import { idPrefix, Unit } from '../unit.ts'
import { insertUnits, maxInsertedUnits, rollBackStoring, setStoringSavepoint } from './repository.ts'

/** A unit ready to be stored: sanitized, scored and indexed. */
export interface PreparedUnit {
  id: string
  type: Unit['@type']
  author: string
  attributedTo: string | null
  visibility: Unit['metadata']['visibility']
  domain: string
  document: Unit
  /** The document as JSON text for the database. */
  json: string
  /** The registry's own score, 0–1. */
  quality: number
  /** A `tsvector` in text form. */
  search: string
  warnings: string[]
  /** Where the texts quote, describe or encode instructions to a model, for readers. */
  instructions: InstructionField[]
  /** Personal data found in its texts; the warnings mention it. */
  found: readonly FieldFindings[]
  /** Number of fields that the sanitizer changed. */
  sanitized: number
  /** Where the sanitizer changed the unit. */
  sanitizedPlaces: SanitizedPlace[]
}

/**
 * Converts a sent unit to its stored form without storing it. The author is the given agent; the id is the sender's or a new one.
 * @throws {SanitizationError} also for a private key or seed phrase
 * @throws {Problem} `invalid` if nothing remains of a required field after sanitizing
 */
export function prepareUnit(sent: Unit, { author, strict }: { author: string; strict: boolean }): PreparedUnit {
  const { value, changes, encoded, quoted } = sanitizeFields(sent, { strict })
  // Sanitizing may have emptied a required field.
  const unit = changes.length === 0 ? sent : revalidated(value)
  const found = scanFields(unit)
  const secret = secretIn(found)
  if (secret) throw secret
  const id = unit.id ?? `${idPrefix(unit['@type'])}${newUuid().replaceAll('-', '')}`
  const document = { ...unit, id, metadata: { ...unit.metadata, agent_id: author } }
  const named = changes.slice(0, 10).map(({ path }) => path.join('.'))
  return {
    id,
    type: unit['@type'],
    author,
    attributedTo: attributedTo(unit),
    visibility: unit.metadata.visibility,
    domain: unit.metadata.task_domain,
    document,
    json: JSON.stringify(document),
    quality: qualityOf(unit),
    search: searchVector(weightedTextsOf(document)),
    warnings: [
      ...warningsOf(unit),
      ...(changes.length > 0
        ? [`Markup was removed or characters were normalized in ${changes.length} field(s): ${named.join(', ')}.`]
        : []),
      ...instructionWarnings(encoded, quoted),
      ...personalWarnings(found),
    ],
    instructions: instructionFields(encoded, quoted),
    found,
    sanitized: changes.length,
    sanitizedPlaces: sanitizedPlaces(changes),
  }
}

/** The places as JSON text for the database; null if there are none. */
export const storedInstructions = ({ instructions }: Pick<PreparedUnit, 'instructions'>): string | null =>
  instructions.length > 0 ? JSON.stringify(instructions) : null

function revalidated(value: unknown): Unit {
  const parsed = Unit.safeParse(value)
  if (parsed.success) return parsed.data
  const issues = parsed.error.issues.map((issue) => ({
    path: issue.path.map((step) => (typeof step === 'symbol' ? String(step) : step)),
    message: `${issue.message} (after markup was removed)`,
  }))
  throw new Problem('invalid', {
    detail: 'A required field is empty after markup was removed. Send it as plain text.',
    issues,
  })
}

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
  const outcomes: Awaited<ReturnType<typeof insert>> = []
  for (let start = 0; start < ordered.length; start += maxInsertedUnits)
    outcomes.push(...(await insert(tx, ordered.slice(start, start + maxInsertedUnits), options)))
  const idsOf = (is: (outcome: (typeof outcomes)[number]) => boolean) =>
    new Set(outcomes.filter(is).map(({ id }) => id))
  const stored = idsOf((outcome) => outcome.stored)
  const erased = idsOf((outcome) => outcome.erased)
  return {
    stored,
    erased,
    quarantined: idsOf((outcome) => outcome.quarantined),
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
