import { rejectionsToQuarantine, rejectionWindow } from '#lib/domains/knowledge/rules.ts'
import { SanitizationError } from '#lib/domains/sanitizer/sanitization-error.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { Database } from '#lib/stores/postgres/database.ts'

const insert = (db: Database, agentId: string, now: Date, stage: string) =>
  db.query('content-rejection', 'INSERT INTO content_rejections (id, agent_id, at, stage) VALUES ($1, $2, $3, $4)', [
    newId('rej'),
    agentId,
    now,
    stage,
  ])

/** Converts a {@link SanitizationError} to a refusal with stage, field and position, never the content. */
export const rejectionOf = (
  { stage, path, place, rule }: SanitizationError,
  afterRollback?: () => Promise<unknown>,
): Problem =>
  new Problem('content_rejected', {
    detail: `The text was refused at the stage "${stage}" (${rule}). Nothing was stored.`,
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
    await insert(db, agentId, now, error.stage)
    throw rejectionOf(error)
  }
}

/** Sanitizes within a mutation. The rejection is counted although the transaction is rolled back. */
export function recordingRejection<T>(db: Database, agentId: string, now: Date, sanitize: () => T): T {
  try {
    return sanitize()
  } catch (error) {
    if (!SanitizationError.is(error)) throw error
    throw rejectionOf(error, () => insert(db, agentId, now, error.stage))
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
  const rows = await tx.$queryRaw<unknown[]>`
    SELECT 1 FROM content_rejections WHERE agent_id IN (${author}, ${actorId}) AND at > ${new Date(now.getTime() - rejectionWindow)}
    GROUP BY agent_id HAVING count(*) >= ${rejectionsToQuarantine}::int`
  return rows.length > 0
}
