import { rejectionWindow } from '#lib/domains/knowledge/rules.ts'
import { SanitizationError } from '#lib/domains/sanitizer/sanitization-error.ts'
import type { Actor, Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { agentsUnderReview } from './moderation/repository.ts'
import { idsOfOrganisation } from './repository.ts'

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
