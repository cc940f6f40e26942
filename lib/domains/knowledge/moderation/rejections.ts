import { rejectionWindow } from '#lib/domains/knowledge/rules.ts'
import { SanitizationError } from '#lib/domains/sanitizer/sanitization-error.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { agentsUnderReview, insertRejection } from './repository.ts'

const record = (db: Database, agent: string, now: Date, stage: string) =>
  insertRejection(db, { id: newId('rej'), agent, now, stage })

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
