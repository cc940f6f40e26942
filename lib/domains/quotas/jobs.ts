import { z } from 'zod'
import type { Transaction } from '#lib/kernel/context.ts'
import { job } from '#lib/kernel/job.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { measureStorage } from './measuring.ts'
import { shareUsed, warnFrom } from './rules.ts'

/** Agents or projects per statement. */
const batch = 200

/**
 * Merges the counts of each agent or project into one row. Locks the owners first, in the lock order of their
 * deletion, and skips owners under deletion. A reader sees either all old rows or the merged one.
 */
const mergeCounts = (column: 'agent_id' | 'project_id', holders: 'agents' | 'projects') => `WITH holders AS (
    SELECT id FROM ${holders} WHERE id IN (
      SELECT ${column} FROM storage_counts WHERE ${column} IS NOT NULL GROUP BY ${column} HAVING count(*) > 1 LIMIT ${batch})
    FOR KEY SHARE SKIP LOCKED),
  merged AS (
    DELETE FROM storage_counts c USING holders h WHERE c.${column} = h.id RETURNING h.id, c.bytes, c.rows)
  INSERT INTO storage_counts (${column}, bytes, rows) SELECT id, sum(bytes), sum(rows) FROM merged GROUP BY id`

export interface QuotaJobPorts {
  /** Warns the people of an organization who can act, within the transaction. */
  warn(tx: Transaction, organisationId: string, percent: number, now: Date): Promise<unknown>
}

export function quotasJobs(db: Database, { warn }: QuotaJobPorts) {
  /** Warns once each time that usage reaches 80 %. */
  async function warnOf(id: string, now: Date): Promise<void> {
    const subject = { kind: 'organisation', id } as const
    const found = await measureStorage((name, text, values) => db.query(name, text, values), subject)
    const share = shareUsed(found, found.quota)
    await db.transaction(async (tx) => {
      const { count } = await tx.organisation.updateMany({
        where: { id, storageWarnedAt: share >= warnFrom ? null : { not: null } },
        data: { storageWarnedAt: share >= warnFrom ? now : null },
      })
      if (count > 0 && share >= warnFrom) await warn(tx, id, Math.floor(share * 100), now)
    })
  }

  return [
    job({
      name: 'quotas.merge-counts',
      payload: z.unknown(),
      cron: '* * * * *',
      async run() {
        for (const statement of [mergeCounts('agent_id', 'agents'), mergeCounts('project_id', 'projects')])
          while ((await db.pool.query(statement)).rowCount === batch);
      },
    }),
    job({
      name: 'quotas.warn',
      payload: z.unknown(),
      cron: '*/10 * * * *',
      async run({ now }) {
        for (let after = ''; ; ) {
          const rows = await db.query<{ id: string }>(
            'organisations-with-people',
            `SELECT id FROM organisations o WHERE id > $1 AND EXISTS (SELECT FROM accounts a WHERE a.organisation_id = o.id)
             ORDER BY id LIMIT 500`,
            [after],
          )
          for (const { id } of rows) await warnOf(id, now)
          const last = rows.at(-1)
          if (!last) return
          after = last.id
        }
      },
    }),
  ]
}
