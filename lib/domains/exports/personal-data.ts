import type { PreparedExport } from '#generated/prisma/client.ts'
import { recordedOf } from '#lib/domains/projects/queries.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { type DataSource, erasedRows } from '#lib/kernel/data-source.ts'
import type { ErasureScope, Subject } from '#lib/kernel/erasure-scope.ts'
import type { Exporter, ExportPage, ExportReader, PersonExporter } from '#lib/kernel/exporter.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { jsonObject, recordPages, utc } from '#lib/stores/postgres/record-pages.ts'
import { requireConnectedStores } from '#lib/stores/registered-store.ts'
import type { Attempt } from './export-files.ts'
import { exportNotice, type PreparedExports, prepareAnew } from './prepared.ts'
import {
  contributorOfRecord,
  countFileResidue,
  countRunResidue,
  deleteRunsAbout,
  exportsToErase,
  inventoryOfFiles,
  inventoryOfRuns,
  lockExport,
  lockExportsOfOwners,
  removeRequester,
  runsToErase,
} from './repository.ts'

/** An item is an attempt, so that an export prepared after the erasure is a different item. */
const itemOf = ({ id, attempt }: { id: string; attempt: string | null }): string => `${id}.${attempt ?? noAttempt}`
const noAttempt = '-'
const attemptOf = (item: string): Attempt => {
  const [id = '', attempt = ''] = item.split('.')
  return { id, attempt }
}

/** Returns the agent that contributed a record. */
async function contributorOf(scope: { unit: string } | { skill: string }, tx: Transaction): Promise<string[]> {
  const rows = await contributorOfRecord(tx, { record: 'unit' in scope ? scope.unit : scope.skill })
  return rows.map(({ agent_id }) => agent_id)
}
const accountOf = (scope: ErasureScope): string | null => ('subject' in scope ? scope.subject.account : null)

/**
 * Prepared exports: file and row. Exports of an erased account are deleted. For other accounts, a finished file with
 * erased records is deleted, and one that is being written starts again without them.
 */
export function exportFilesDataSource(ports: PreparedExports): DataSource {
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
    purpose: 'Providing your data as a file because you requested it.',
    basis: 'legal obligation (GDPR art. 6(1)(c), with art. 15 and 20)',
    kept: 'The file: four hours after it is ready. The record of the export: one more day.',
    tables: ['prepared_exports'],
    async inventory({ account, agents }) {
      const [row] = await inventoryOfFiles(db, { account, agents })
      return row ?? { count: 0, since: null, until: null }
    },
    async plan(scope, tx) {
      const isRun = 'part' in scope || 'subject' in scope
      const { accounts, agents } = isRun
        ? await recordedOf(tx, scope)
        : { accounts: [], agents: await contributorOf(scope, tx) }
      const own = 'subject' in scope ? scope.subject : { account: null, agents: [] }
      if (!isRun) await lockExportsOfOwners(tx, { agents })
      const affected = { account: own.account, accounts, agents: [...own.agents, ...agents] }
      const rows = await exportsToErase(tx, affected)
      return { items: rows.map(itemOf).sort(), held: {} }
    },
    async erase(scope, items, tx) {
      const account = accountOf(scope)
      // A row does not say where its file is.
      if (items.length > 0) await requireConnectedStores(ports.whatIsMissing, tx)
      let erased = 0
      for (const item of items) {
        const { id, attempt } = attemptOf(item)
        if (attempt !== noAttempt) await files.remove({ id, attempt })
        await lockExport(tx, { id })
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
      const agents = 'subject' in scope ? scope.subject.agents : []
      const [row] = await countFileResidue(db, { account: accountOf(scope), agents, attempts: items })
      return left + (row?.n ?? 0)
    },
  }
}

const valuesOf = ({ account, agents }: Subject) => ({
  agents,
  account,
  actors: [...agents, ...(account === null ? [] : [`user:${account}`])],
})

/** Records of exports: who received an export about whom. Records about a subject are erased with it. */
export const exportRunsDataSource = (db: Database): DataSource => ({
  name: 'exports.runs',
  store: 'postgresql',
  stage: 'content',
  what: 'records of exports: time, format and requester',
  purpose: 'Limiting exports per day, and informing you who received your data (GDPR art. 15(1)(c)).',
  basis: 'legal obligation (GDPR art. 6(1)(c), with art. 15)',
  kept: 'As long as the account or agent exists.',
  tables: ['export_runs'],
  async inventory(subject) {
    const [row] = await inventoryOfRuns(db, valuesOf(subject))
    return { count: row?.count ?? 0, since: row?.since ?? null, until: null }
  },
  async plan(scope, tx) {
    if (!('subject' in scope)) return { items: [], held: {} }
    const records = await runsToErase(tx, valuesOf(scope.subject))
    return { items: records.map(({ id }) => id).sort(), held: {} }
  },
  /** A record about somebody else's export remains, without the erased requester. */
  async erase(scope, items, tx) {
    if (!('subject' in scope)) return 0
    const { agents, account, actors } = valuesOf(scope.subject)
    const deleted = await deleteRunsAbout(tx, { agents, account, ids: items })
    return erasedRows({ deleted, pseudonymized: await removeRequester(tx, { actors, ids: items }) })
  },
  async residue(scope) {
    if (!('subject' in scope)) return 0
    const [row] = await countRunResidue(db, valuesOf(scope.subject))
    return row?.n ?? 0
  },
})

/**
 * The exports of one subject's data. `requestedBy`: SQL for the role of who requested it. Only the role is exported, because an admin's
 * account is personal data of somebody else (GDPR art. 15(4)).
 */
const exportRunPages = (
  db: Database,
  subject: { id: string; kind: 'agent' | 'account' },
  { until }: Pick<ExportReader, 'until'>,
  requestedBy: string,
): AsyncIterable<ExportPage> =>
  recordPages(db, {
    from: 'export_runs x',
    where: 'x.subject_id = $1 AND x.subject_kind = $2 AND x.at <= $3',
    values: [subject.id, subject.kind, until],
    at: 'x.at',
    id: 'x.id',
    columns: 'x.id, x.subject_id, x.agent_id, x.requested_by, x.format, x.basis, x.at',
    record: jsonObject({
      id: 'c.id',
      at: utc('c.at'),
      requested_by: requestedBy,
      format: 'c.format',
      scope: 'c.basis',
    }),
  })

/** Exports who received an export before: the recipients of the data (GDPR art. 15(1)(c)), including this export. */
export const exportExporters = (db: Database): Exporter[] => [
  {
    part: 'export_runs',
    isShared: true,
    bases: ['all'],
    tables: ['export_runs'],
    pages: (id, reader) =>
      exportRunPages(
        db,
        { id, kind: 'agent' },
        reader,
        "CASE WHEN c.requested_by = c.subject_id THEN 'itself' WHEN c.agent_id IS NULL THEN 'admin' ELSE 'owner' END",
      ),
  },
]

/** Exports of the person's data, including this one: who requested them, and the state of the file. */
export const exportPersonExporters = (db: Database): PersonExporter[] => [
  {
    part: 'export_runs',
    bases: ['all'],
    tables: ['export_runs'],
    pages: (id, reader) =>
      exportRunPages(
        db,
        { id, kind: 'account' },
        reader,
        "CASE WHEN c.requested_by = 'user:' || c.subject_id THEN 'itself' WHEN c.requested_by LIKE 'system:%' THEN 'request' ELSE 'admin' END",
      ),
  },
  {
    part: 'prepared_exports',
    bases: ['all'],
    tables: ['prepared_exports'],
    pages: (accountId, { until }) =>
      recordPages(db, {
        from: 'prepared_exports p',
        where: 'p.account_id = $1 AND p.created_at <= $2',
        values: [accountId, until],
        at: 'p.created_at',
        id: 'p.id',
        columns: 'p.*',
        record: jsonObject({
          id: 'c.id',
          scope: 'c.basis',
          state: 'c.state',
          request_id: 'c.request_id',
          records: 'c.records',
          created_at: utc('c.created_at'),
          ready_at: utc('c.ready_at'),
          expires_at: utc('c.expires_at'),
          downloaded_at: utc('c.downloaded_at'),
        }),
      }),
  },
]
