import type { PreparedExport } from '#generated/prisma/client.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { DataSource, ErasureScope, ProjectPart, Subject } from '#lib/kernel/data-source.ts'
import { type Database, queryWithin } from '#lib/stores/postgres/database.ts'
import type { Attempt } from './export-files.ts'
import { exportNotice, type PreparedPorts, prepareAnew } from './prepared.ts'

/** An item is an attempt, so that an export prepared after the erasure is a different item. */
const itemOf = ({ id, attempt }: { id: string; attempt: string | null }): string => `${id}.${attempt ?? noAttempt}`
const noAttempt = '-'
const attemptOf = (item: string): Attempt => {
  const [id = '', attempt = ''] = item.split('.')
  return { id, attempt }
}

/** What exports need from other domains to find the files that contain records to erase. */
export interface RecordedPorts {
  /** Returns the people and agents whose records are erased with a part of a project or with a subject. */
  recordedOf(
    tx: Transaction,
    scope: { part: ProjectPart } | { subject: Subject },
  ): Promise<{ accounts: readonly string[]; agents: readonly string[] }>
}
/** Returns the agent that contributed a record. */
async function contributorOf(scope: { unit: string } | { skill: string }, tx: Transaction): Promise<string[]> {
  const record = 'unit' in scope ? scope.unit : scope.skill
  const rows = await tx.$queryRaw<{ agent_id: string }[]>`SELECT agent_id FROM agent_records WHERE id = ${record}`
  return rows.map(({ agent_id }) => agent_id)
}
const accountOf = (scope: ErasureScope): string | null => ('subject' in scope ? scope.subject.account : null)

/**
 * Prepared exports: file and row. Exports of an erased account are deleted. For other accounts, a finished file with
 * erased records is deleted, and one that is being written starts again without them.
 */
export function exportFilesDataSource(ports: PreparedPorts & RecordedPorts & { clock: { now(): Date } }): DataSource {
  const { db, files, clock } = ports

  async function eraseFor(tx: Transaction, row: PreparedExport, account: string | null): Promise<void> {
    if (row.attempt !== null) await files.remove({ id: row.id, attempt: row.attempt })
    if (row.accountId === account) {
      await tx.preparedExport.delete({ where: { id: row.id } })
      await exportNotice(ports, tx, row, 'gone', clock.now())
    } else if (row.state === 'running') {
      await tx.preparedExport.update({ where: { id: row.id }, data: { state: 'queued', attempt: null, agents: [] } })
      await prepareAnew(tx, row.id)
    } else {
      await tx.preparedExport.update({
        where: { id: row.id },
        data: { state: 'expired', attempt: null, agents: [], fault: 'erased', sha256: null, bytes: null },
      })
      if (row.downloadedAt === null) await exportNotice(ports, tx, row, 'gone', clock.now())
    }
  }

  return {
    name: 'exports.files',
    store: 'exports',
    stage: 'derived',
    what: 'prepared exports',
    purpose: 'Handing you what is held on you as a file, because you asked for it.',
    basis: 'legal obligation (GDPR art. 6(1)(c), with art. 15 and 20)',
    kept: 'Four hours from when it was ready; that there was one, a day longer.',
    tables: ['prepared_exports'],
    async inventory({ account, agents }) {
      const [row] = await db.query<{ count: number; since: Date | null; until: Date | null }>(
        'exports-files-inventory',
        `SELECT count(*)::int AS count, min(created_at) AS since, max(expires_at) AS until FROM prepared_exports
         WHERE account_id = $1 OR ($1 IS NULL AND agents && $2::text[])`,
        [account, agents],
      )
      return row ?? { count: 0, since: null, until: null }
    },
    async plan(scope, tx) {
      const isRun = 'part' in scope || 'subject' in scope
      const { accounts, agents } = isRun
        ? await ports.recordedOf(tx, scope)
        : { accounts: [], agents: await contributorOf(scope, tx) }
      const own = 'subject' in scope ? scope.subject : { account: null, agents: [] }
      // Locks exports that are about to start until the unit is erased, so that they cannot read it.
      if (!isRun)
        await tx.$executeRaw`SELECT 1 FROM prepared_exports p JOIN agent_owners a ON a.owner_id = p.account_id
          WHERE a.id = ANY(${agents}) AND p.state IN ('queued', 'running', 'ready') FOR UPDATE OF p`
      const rows = await tx.$queryRaw<{ id: string; attempt: string | null }[]>`
        SELECT id, attempt FROM prepared_exports WHERE account_id = ${own.account}
          OR (state IN ('running', 'ready') AND (account_id = ANY(${accounts}::text[]) OR agents && ${[...own.agents, ...agents]}::text[]))`
      return { items: rows.map(itemOf).sort(), held: {} }
    },
    async erase(scope, items, tx) {
      const account = accountOf(scope)
      let erased = 0
      for (const item of items) {
        const { id, attempt } = attemptOf(item)
        if (attempt !== noAttempt) await files.remove({ id, attempt })
        await tx.$executeRaw`SELECT 1 FROM prepared_exports WHERE id = ${id} FOR UPDATE`
        const row = await tx.preparedExport.findUnique({ where: { id } })
        if (!row || (row.accountId !== account && row.attempt !== attempt)) continue
        await eraseFor(tx, row, account)
        erased++
      }
      return erased
    },
    /** Searches by the names in the folder and by the rows. */
    async residue(scope, items) {
      const wanted = new Set(items)
      const found = wanted.size === 0 ? [] : await files.names()
      const left = found.filter((file) => wanted.has(itemOf(file))).length
      const [row] = await db.query<{ n: number }>(
        'exports-files-residue',
        `SELECT count(*)::int AS n FROM prepared_exports
         WHERE account_id = $1 OR (state IN ('running', 'ready') AND (agents && $2::text[] OR id || '.' || attempt = ANY($3::text[])))`,
        [accountOf(scope), 'subject' in scope ? scope.subject.agents : [], items],
      )
      return left + (row?.n ?? 0)
    },
  }
}

/** An agent's id can equal an account id, so an id is matched together with its kind. */
const isOf = `(x.subject_kind = 'agent' AND x.subject_id = ANY($1::text[]) OR x.subject_kind = 'account' AND x.subject_id = $2)`
/** The requester is stored as in the audit log, where no agent id begins with `user:`. */
const isBy = 'x.requested_by = ANY($3::text[])'
const valuesOf = ({ account, agents }: Subject): unknown[] => [
  [...agents],
  account,
  [...agents, ...(account === null ? [] : [`user:${account}`])],
]
/** Replaces an erased requester. An agent could be called `erased`, but no agent id begins with `system:`. */
const erasedActor = 'system:erased'

/** Records of exports: who received an export about whom. Records about a subject are erased with it. */
export const exportRunsDataSource = (db: Database): DataSource => ({
  name: 'exports.runs',
  store: 'postgresql',
  stage: 'content',
  what: 'notes of exports: when, of what form, and by whom they were asked for',
  purpose: 'Counting the exports of a day, and telling you who was given your data (GDPR art. 15(1)(c)).',
  basis: 'legal obligation (GDPR art. 6(1)(c), with art. 15)',
  kept: 'As long as the account or agent.',
  tables: ['export_runs'],
  async inventory(subject) {
    const [row] = await db.query<{ count: number; since: Date | null }>(
      'exports-runs-inventory',
      `SELECT count(*)::int AS count, min(x.at) AS since FROM export_runs x WHERE ${isOf} OR ${isBy}`,
      valuesOf(subject),
    )
    return { count: row?.count ?? 0, since: row?.since ?? null, until: null }
  },
  async plan(scope, tx) {
    if (!('subject' in scope)) return { items: [], held: {} }
    const records = await queryWithin<{ id: string }>(
      tx,
      'plan-export-runs',
      `SELECT x.id FROM export_runs x WHERE ${isOf} UNION SELECT x.id FROM export_runs x WHERE ${isBy}`,
      valuesOf(scope.subject),
    )
    return { items: records.map(({ id }) => id).sort(), held: {} }
  },
  /** A record about somebody else's export remains, without the erased requester. */
  async erase(scope, items, tx) {
    if (!('subject' in scope)) return 0
    const [agents, account, actors] = valuesOf(scope.subject)
    const gone = await queryWithin(
      tx,
      'erase-export-runs',
      `DELETE FROM export_runs x WHERE x.id = ANY($3::text[]) AND ${isOf} RETURNING 1`,
      [agents, account, items],
    )
    const blanked = await queryWithin(
      tx,
      'blank-export-runs',
      `UPDATE export_runs x SET requested_by = '${erasedActor}' WHERE x.id = ANY($2::text[]) AND x.requested_by = ANY($1::text[]) RETURNING 1`,
      [actors, items],
    )
    return gone.length + blanked.length
  },
  /** Also searches by the agent whose quota counted the export. */
  async residue(scope) {
    if (!('subject' in scope)) return 0
    const [row] = await db.query<{ n: number }>(
      'exports-runs-residue',
      `SELECT count(*)::int AS n FROM export_runs x WHERE ${isOf} OR x.agent_id = ANY($1::text[]) OR ${isBy}`,
      valuesOf(scope.subject),
    )
    return row?.n ?? 0
  },
})
