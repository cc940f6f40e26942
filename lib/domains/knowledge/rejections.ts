import { SanitizationError } from '#lib/domains/sanitizer/sanitization-error.ts'
import { newId } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { Database } from '#lib/stores/postgres/database.ts'

/** Sanitizes, and counts a refusal against the agent: stage and time, never the content. */
export async function recordRejection<T>(db: Database, agentId: string, now: Date, sanitize: () => T): Promise<T> {
  try {
    return sanitize()
  } catch (error) {
    if (!SanitizationError.is(error)) throw error
    const { stage, path, place, rule } = error
    await db.query(
      'content-rejection',
      'INSERT INTO content_rejections (id, agent_id, at, stage) VALUES ($1, $2, $3, $4)',
      [newId('rej'), agentId, now, stage],
    )
    throw new Problem('content_rejected', {
      detail: `The text was refused at the stage "${stage}" (${rule}). Nothing was stored.`,
      issues: [{ path: [...path], message: `${rule} at character ${place}` }],
      extensions: { stage, field: path.join('.'), place },
    })
  }
}
