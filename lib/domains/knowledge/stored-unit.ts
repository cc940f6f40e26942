import type { UnitErasures } from '#lib/domains/erasure/queries.ts'
import { type Recognise, withNames } from '#lib/domains/pii/analyzer.ts'
import { type FieldFindings, fieldTexts, personalWarnings } from '#lib/domains/pii/fields.ts'
import { listedInstructions } from '#lib/domains/sanitizer/contract.ts'
import { SanitizationError } from '#lib/domains/sanitizer/sanitization-error.ts'
import { withTimeout } from '#lib/kernel/concurrency.ts'
import type { Actor, Context, MutationContext, Transaction } from '#lib/kernel/context.ts'
import type { Periods } from '#lib/kernel/expiring.ts'
import { newId } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { Receipt } from '#lib/kernel/receipt.ts'
import type { Reply } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { rejectUnderLegalHold } from './erasure/repository.ts'
import { agentsUnderReview } from './moderation/repository.ts'
import { idsOfOrganisation, type KnowledgeReader, type UnitRow } from './repository.ts'
import { rejectionWindow } from './rules.ts'

export interface ChosenIdPorts {
  /** Of these ids, those outside the namespaces of the organization. */
  outsideNamespace(tx: Transaction, organisationId: string, ids: readonly string[]): Promise<ReadonlySet<string>>
  /** Of these ids, those of erased records that one of the agents owned. */
  erasedOf(tx: Transaction, ids: readonly string[], owners: readonly string[]): Promise<readonly string[]>
}
/** Whose ids are checked: the organization of a contributing agent. */
interface Contributing {
  actor: Actor
  organisationId: string
}

export const unitIdInUse = 'A unit with this id already exists. Nothing was changed. Omit the id to get a new one.'
export const idErased = 'A unit with this id was erased. The id cannot be used again.'

/** Why a chosen id is refused before it is compared with the records of other organizations. */
type IdRefusal = 'guessable' | 'in use' | 'erased'

export const idGuessable =
  'The id can be guessed, so another organization could block it, or learn that you use it. Omit the id to get a new one, include a UUID in it, or ask an admin to assign a prefix to your organization.'

export function idProblem(refusal: IdRefusal): Problem {
  if (refusal === 'in use') return new Problem('id_in_use', unitIdInUse)
  if (refusal === 'erased') return new Problem('erased', idErased)
  const issue = { path: ['id'], message: 'can be guessed; use a UUID, or 20 random letters and digits' }
  return new Problem('invalid', { detail: idGuessable, issues: [issue] })
}

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/i
/** Hashes, and random numbers of 48 bits or more. Rate limits make it impossible to try so many. */
const hex = /[0-9a-f]{12,}/gi
/** A day with a time, such as 20260301093000. */
const date = /^20\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:[01]\d|2[0-3])[0-5]\d+$/
/** A run that only random ids have: ULID, KSUID, cuid, and the ids that this registry generates. */
const unbroken = /[0-9A-Za-z]{20}/
/** A time in milliseconds: published clients of the open-source registry number their units by it. */
const milliseconds = /(?<!\d)1\d{12}(?!\d)/
/** A part of an id that is a word, a number, or a word followed by a number: such an id can be guessed. */
const plain = /^(?:[A-Z]?[a-z]*|[A-Z]*)\d*$/
/**
 * Shortest id with `-` or `_` in it that can be random, such as one of nanoid, and how many of its characters must not be plain. One of
 * 100,000 ids of nanoid does not meet this by chance.
 */
const broken = { length: 21, random: 5 }

/** The part of an id of a unit or skill that a client can choose: the text behind `kp:<kind>:`. */
export const chosenPart = (id: string): string => id.slice(id.lastIndexOf(':') + 1)

/**
 * Whether somebody who does not know the id of a unit or skill could find it by guessing. The prefix of an organization is not random:
 * members of other organizations can know it.
 */
export function canBeGuessed(id: string): boolean {
  const chosen = chosenPart(id).replace(/^org_[0-9A-Za-z]{22}_/, '')
  if ([uuid, unbroken, milliseconds].some((form) => form.test(chosen))) return false
  if (chosen.match(hex)?.some((run) => !date.test(run))) return false
  const random = chosen.split(/[-_]/).filter((part) => !plain.test(part))
  return chosen.length < broken.length || random.join('').length < broken.random
}

/**
 * Of ids that clients chose, those that can be guessed and are outside the namespaces of the contributor's organization. They are refused
 * before they are compared with the records of others: otherwise the answer would reveal the ids of other organizations, and one
 * organization could block the ids of another one. Ids that the organization itself uses or erased are marked as such.
 */
export async function refusedIds(
  { outsideNamespace, erasedOf }: ChosenIdPorts,
  tx: Transaction,
  { actor, organisationId }: Contributing,
  ids: readonly string[],
  table: 'units' | 'skills' = 'units',
): Promise<Map<string, IdRefusal>> {
  const candidates = ids.filter(canBeGuessed)
  if (candidates.length === 0) return new Map()
  const outside = await outsideNamespace(tx, organisationId, candidates.map(chosenPart))
  const refused = candidates.filter((id) => outside.has(chosenPart(id)))
  if (refused.length === 0) return new Map()
  const own = await idsOfOrganisation(tx, { ids: refused, organisation: organisationId }, table)
  const erased = await erasedOf(tx, refused, actor.agents)
  return new Map<string, IdRefusal>([
    ...refused.map((id) => [id, 'guessable'] as const),
    ...own.map(({ id }) => [id, 'in use'] as const),
    ...erased.map((id) => [id, 'erased'] as const),
  ])
}

const record = (db: Database, agent: string, now: Date, stage: string) =>
  db.prisma.contentRejection.create({ data: { id: newId('rej'), agentId: agent, at: now, stage } })

/** Converts a {@link SanitizationError} to a refusal with stage, field and position, never the content. */
export const rejectionOf = (
  { stage, path, place, rule }: SanitizationError,
  afterRollback?: () => Promise<unknown>,
): Problem =>
  new Problem('content_rejected', {
    detail: `The text was rejected at the stage "${stage}" (${rule}). Nothing was stored.`,
    issues: [{ path: [...path], message: `${rule} at character ${place}` }],
    extensions: { stage, field: path.join('.'), place },
    ...(afterRollback && { afterRollback }),
  })

/** Sanitizes outside of a transaction. Counts a rejection against the agent with stage and time, never the content. */
export async function recordRejection<T>(db: Database, agentId: string, now: Date, sanitize: () => T): Promise<T> {
  try {
    return sanitize()
  } catch (error) {
    if (!SanitizationError.is(error)) throw error
    await record(db, agentId, now, error.stage)
    throw rejectionOf(error)
  }
}

/** Sanitizes within a mutation. The rejection is counted although the transaction is rolled back. */
export function recordingRejection<T>(db: Database, agentId: string, now: Date, sanitize: () => T): T {
  try {
    return sanitize()
  } catch (error) {
    if (!SanitizationError.is(error)) throw error
    throw rejectionOf(error, () => record(db, agentId, now, error.stage))
  }
}

/** Counts rejections at these stages within the transaction. */
export async function countRejections(
  tx: Transaction,
  agentId: string,
  now: Date,
  stages: readonly string[],
): Promise<void> {
  if (stages.length === 0) return
  await tx.contentRejection.createMany({
    data: stages.map((stage) => ({ id: newId('rej'), agentId, at: now, stage })),
  })
}

/**
 * Whether recent rejections of the actor or of the author put a changed record into quarantine. The author counts because the record is
 * published under its name.
 */
export async function isUnderReview(
  tx: Transaction,
  { author, actorId }: { author: string; actorId: string },
  now: Date,
): Promise<boolean> {
  const since = new Date(now.getTime() - rejectionWindow)
  return (await agentsUnderReview(tx, { agents: [author, actorId], since })).length > 0
}

/** The caller's access rights. */
export const knowledgeReaderOf = ({ actor }: Pick<Context, 'actor'>): KnowledgeReader => ({
  agents: actor.agents,
  organisation: actor.organisationId ?? null,
  admin: actor.isAdmin,
})

/** ETag of a unit: its version and its quality, which votes change without a new version. */
export const etagOf = ({ version, quality }: { version: number; quality: number }): string =>
  `"v${version}-${Math.round(quality * 10_000)}"`

/** Whether an If-Match header allows a change of this version. Quality is ignored: votes do not change the unit. */
export const passes = (ifMatch: string | undefined, version: number): boolean =>
  ifMatch === undefined ||
  ifMatch.trim() === '*' ||
  ifMatch.split(',').some((tag) => /^"v(\d+)(?:-\d+)?"$/.exec(tag.trim())?.[1] === String(version))

/** Finds names of people in texts; undefined if no analyzer is configured. */
type Names = Recognise | undefined

/** Warning if the configured analyzer did not answer. */
const namesMissing =
  'The text was not checked for names and postal addresses of people, because the connected analyzer did not answer.'

/** A scanned value with its findings and warnings. */
interface Warned {
  value: unknown
  found: readonly FieldFindings[]
  warnings: readonly string[]
}
const keyOf = ({ path }: Pick<FieldFindings, 'path'>): string => JSON.stringify(path)

/**
 * Returns the warnings of each item, including the analyzer's findings. Never throws. Takes no longer than one analyzer request, however
 * many items there are; without an analyzer nothing is requested. Do not call it within a transaction: it waits for another server.
 */
export async function namesWarned(recognise: Recognise | undefined, items: readonly Warned[]): Promise<string[][]> {
  if (recognise === undefined) return items.map(({ warnings }) => [...warnings])
  const texts = items.flatMap(({ value, found }, item) => {
    const known = new Map(found.filter(({ isKey }) => !isKey).map((field) => [keyOf(field), field.findings]))
    return fieldTexts(value).map((field) => ({ ...field, item, ours: known.get(keyOf(field)) ?? [] }))
  })
  const { findings, missing } = await withNames(
    recognise,
    texts.map(({ text }) => text),
    texts.map(({ ours }) => ours),
  )
  const places = texts.map((field, at) => ({ ...field, isMissing: missing.has(at), findings: findings[at] ?? [] }))
  return items.map(({ found, warnings }, item) => {
    const own = places.filter((place) => place.item === item)
    const reported = own.filter((place) => place.findings.length > 0)
    const again = new Set(reported.map(keyOf))
    const retained = found.filter((field) => field.isKey || !again.has(keyOf(field)))
    const before = new Set(personalWarnings(found))
    return [
      ...warnings.filter((warning) => !before.has(warning)),
      ...personalWarnings([...retained, ...reported]),
      ...(own.some(({ isMissing }) => isMissing) ? [namesMissing] : []),
    ]
  })
}

/** Returns the warnings of one record, including names found in it. Call it outside of transactions. */
export async function warningsWithNames(names: Names, of: Warned): Promise<string[]> {
  const [warnings] = await namesWarned(names, [of])
  return warnings ?? [...of.warnings]
}

/** Adds warnings about names to a reply. The search runs after the commit, so that no locks are held meanwhile. */
export function namedAfterCommit<T extends { warnings?: string[] | undefined }>(
  names: Names,
  of: Omit<Warned, 'warnings'>,
  reply: Reply<T>,
): Reply<T> {
  const { body, status, headers } = reply
  if (names === undefined || body === undefined) return reply
  return {
    ...reply,
    async afterCommit() {
      const warnings = await warningsWithNames(names, { ...of, warnings: body.warnings ?? [] })
      return {
        body: warnings.length > 0 ? { ...body, warnings } : body,
        ...(status !== undefined && { status }),
        ...(headers && { headers }),
      }
    },
  }
}

export interface KnowledgeDeps {
  db: Database
  erasures: UnitErasures
  strict: boolean
  /** Key for hashes of reporters' networks. */
  networkKey: () => Uint8Array
  names: Names
  chosenIds: ChosenIdPorts
  /** Retention in days by visibility; null means unlimited. */
  periods(): Promise<Periods>
}

/** The API form of a unit. */
export const shown = (row: UnitRow) => ({
  id: row.id,
  unit: { ...row.document, id: row.id },
  visibility: row.visibility,
  quality_score: row.quality_score,
  ...listedInstructions(row.instructions),
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})

/** Problem for a missing unit or skill: 410 with the receipt for its former owner, 404 for others. */
export async function erasedOrNotFound(
  { receiptFor }: Pick<UnitErasures, 'receiptFor'>,
  { actor }: Pick<Context, 'actor'>,
  id: string,
  tx?: Transaction,
): Promise<Problem> {
  const receiptId = await receiptFor(id, actor.agents, tx)
  return receiptId === undefined
    ? new Problem(
        'not_found',
        `No ${id.startsWith('kp:skill:') ? 'skill' : 'unit'} with this id exists, or you cannot access it.`,
      )
    : new Problem('erased', {
        detail: 'This record was erased. See its receipt.',
        extensions: { receipt_id: receiptId },
        headers: { Link: `</v1/receipts/${receiptId}>; rel="related"` },
      })
}

/** A unit or skill to erase; its row is locked. */
interface Erasable {
  kind: 'unit' | 'skill'
  id: string
  author: string
  /** Further agents that the content is attributed to. */
  attributedTo?: readonly (string | null)[]
  version: number
  /** Whether others could have copied it. */
  wasPublic: boolean
}

/** Milliseconds that a request waits for verification; after that the job completes it. */
const verificationPatience = 20_000

const prefersReceipt = (prefer: string | undefined): boolean =>
  /(?:^|,)\s*return\s*=\s*"?representation"?\s*(?:[,;]|$)/i.test(prefer ?? '')

/**
 * Starts the erasure in the transaction and completes it after the commit. Returns 204 with the receipt's id, or the receipt if the client
 * prefers it.
 * @throws {Problem} `precondition_failed`, `held`; `unavailable` if verification is not complete yet
 */
export async function eraseRow(
  erasures: UnitErasures,
  { tx, actor, now }: MutationContext,
  { kind, id, author, attributedTo = [], version, wasPublic }: Erasable,
  headers: { prefer?: string | undefined; 'if-match'?: string | undefined },
): Promise<Reply<Receipt>> {
  if (!passes(headers['if-match'], version))
    throw new Problem(
      'precondition_failed',
      `The ${kind} has changed since you read it, so nothing was erased. Read it again.`,
    )
  await rejectUnderLegalHold(tx, { kind, id, agents: [author, ...attributedTo] }, now)
  const receiptId = await erasures.begin(tx, {
    scope: kind === 'unit' ? { unit: id } : { skill: id },
    formerOwner: author,
    requestedBy: actor.id,
    reason: actor.agents.includes(author) ? 'user_request' : 'admin_request',
    wasPublic,
    now,
  })
  const headersOut = {
    'X-Deletion-Receipt': receiptId,
    Link: `</v1/receipts/${receiptId}>; rel="related"; title="deletion receipt"`,
  }
  return {
    body: undefined,
    status: 204,
    resourceId: id,
    details: { receipt: receiptId },
    headers: headersOut,
    afterCommit: async () => {
      const late = new Problem('unavailable', 'The verification takes longer than usual.')
      const receipt = await withTimeout(verificationPatience, erasures.finishCommitted(receiptId), late).catch(
        (cause: unknown) => {
          throw new Problem('unavailable', {
            detail: `The ${kind} was erased, but the erasure could not be verified yet. The verification is retried automatically. Request the receipt later.`,
            headers: { ...headersOut, 'Retry-After': '60' },
            extensions: { receipt_id: receiptId },
            cause,
          })
        },
      )
      return prefersReceipt(headers.prefer)
        ? { body: receipt, status: 200, headers: { ...headersOut, 'Preference-Applied': 'return=representation' } }
        : { body: undefined, status: 204, headers: headersOut }
    },
  }
}
