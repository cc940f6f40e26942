import type { z } from 'zod'
import type { PreparedExport } from '#generated/prisma/client.ts'
import { exportsFolder } from '#lib/config/data-folder.ts'
import type { Env } from '#lib/config/env.ts'
import { enqueue } from '#lib/jobs/queue.ts'
import type { Actor, Clock, Context, Transaction } from '#lib/kernel/context.ts'
import type { DataSource, RetainedRecord } from '#lib/kernel/data-source.ts'
import type { Basis, Exporter, PersonExporter } from '#lib/kernel/exporter.ts'
import { newId } from '#lib/kernel/ids.ts'
import type { Importer } from '#lib/kernel/importer.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { ObjectStore } from '#lib/stores/objects/objects.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { type MissingStoreData, requireConnectedStores } from '#lib/stores/registered-store.ts'
import type { ExportView } from './contract.ts'
import { type ExportFiles, exportFiles, exportObjects } from './export-files.ts'

export const prepareJob = 'exports.prepare'
/** The job key of an export: enqueuing it again while it waits changes nothing. */
const prepareKey = (id: string): string => `${prepareJob}:${id}`
/** Number of failed attempts after which the job and the export are given up. */
const attemptLimit = 8

/** A change of an export that answers a privacy request, reported in the transaction of the change. */
export interface ExportChange {
  requestId: string
  exportId: string
  basis: Basis
  /** fetched: the owner downloaded it completely. gone: it expired, was deleted, or contained data that was erased. */
  state: 'ready' | 'fetched' | 'gone' | 'failed'
  records: number
  /** The code of the last error if the state is `failed`; otherwise null. */
  fault: string | null
  now: Date
}
/** Storage of prepared exports, and the event that reports their changes to privacy requests. */
export interface PreparedExports {
  db: Database
  clock: Clock
  files: ExportFiles
  /** Places that have had exports, are not this one, and still count. */
  whatIsMissing: MissingStoreData
  onExport(tx: Transaction, change: ExportChange): Promise<void>
}
/** Opens the storage of prepared exports: the bucket for files if there is one, otherwise the folder. */
export function preparedExports({
  db,
  clock,
  env,
  storeRegistry,
  files,
  onExport,
}: Pick<PreparedExports, 'db' | 'clock' | 'onExport'> & {
  env: Pick<Env, 'KP_DATA_DIR'>
  /** Which places have had exports. */
  storeRegistry: { used(port: 'exports', isPut: boolean): Promise<void>; missing(port: 'exports'): MissingStoreData }
  files: ObjectStore | undefined
}): PreparedExports {
  const noteUse = (isPut: boolean) => storeRegistry.used('exports', isPut)
  const stored = files ? exportObjects(files, noteUse) : exportFiles(exportsFolder(env), noteUse)
  const whatIsMissing = storeRegistry.missing('exports')
  const check = async () => {
    await stored.check()
    await requireConnectedStores(whatIsMissing)
  }
  return { db, clock, files: { ...stored, check }, whatIsMissing, onExport }
}
/** What exports, imports and the inventory need from all domains. */
export interface ExportsDeps extends PreparedExports {
  exporters: readonly Exporter[]
  personExporters: readonly PersonExporter[]
  importers: readonly Importer[]
  dataSources: readonly DataSource[]
  retainedRecords: readonly RetainedRecord[]
  /** Returns those agents that were erased here while they belonged to the actor's organization. */
  erasedAgents(actor: Actor, ids: readonly string[]): Promise<readonly string[]>
  /** Returns the location of a store: provider and region. */
  placeOf(store: string): string
}

export const basisOf = (text: string): Basis => (text === 'provided' ? 'provided' : 'all')

/** Reports the change of an export to its privacy request, if it has one. */
export async function exportNotice(
  { onExport }: Pick<PreparedExports, 'onExport'>,
  tx: Transaction,
  row: Pick<PreparedExport, 'id' | 'requestId' | 'basis' | 'records' | 'fault'>,
  state: ExportChange['state'],
  now: Date,
): Promise<void> {
  const { id: exportId, requestId, basis, records, fault } = row
  if (requestId !== null) await onExport(tx, { requestId, exportId, basis: basisOf(basis), state, records, fault, now })
}

export const viewOf = (row: PreparedExport): z.input<typeof ExportView> => ({
  id: row.id,
  scope: basisOf(row.basis),
  state: row.state,
  parts_done: row.partsDone,
  parts_total: row.partsTotal,
  records: row.records,
  bytes: row.bytes === null ? null : Number(row.bytes),
  sha256: row.sha256,
  request_id: row.requestId,
  fault: row.fault,
  created_at: row.createdAt,
  ready_at: row.readyAt,
  expires_at: row.expiresAt,
  downloaded_at: row.downloadedAt,
})

/**
 * Returns the signed-in account. Prepared exports are only for people.
 * @throws Problem `forbidden`
 */
export function accountOf({ actor }: Context): string {
  if (actor.accountId !== undefined) return actor.accountId
  throw new Problem(
    'forbidden',
    'Only people can prepare exports. For the data of an agent, use GET /v1/export/{agent_id}.',
  )
}
export const exportNotFound = () => new Problem('not_found', 'This export does not exist, or it is not yours.')

export interface PreparationOrder {
  accountId: string
  requestId: string | null
  basis: Basis
  now: Date
}
/** Stores an export and enqueues the job that prepares it. */
export async function orderPreparation(tx: Transaction, { now, ...what }: PreparationOrder): Promise<PreparedExport> {
  const row = await tx.preparedExport.create({ data: { id: newId('exp'), ...what, createdAt: now } })
  await enqueue(tx, prepareJob, { id: row.id }, { key: prepareKey(row.id), maxAttempts: attemptLimit })
  return row
}

/** Enqueues the job again for an export whose job runs or was lost; a running job notices that it was replaced. */
export const prepareAnew = (tx: Transaction, id: string): Promise<void> =>
  enqueue(tx, prepareJob, { id }, { key: prepareKey(id), maxAttempts: attemptLimit })

/**
 * Returns an export of the person.
 * @throws Problem `not_found` for an unknown export and for one of another person
 */
export async function ownExport({ db }: PreparedExports, ctx: Context, id: string): Promise<PreparedExport> {
  const row = await db.prisma.preparedExport.findFirst({ where: { id, accountId: accountOf(ctx) } })
  if (!row) throw exportNotFound()
  return row
}
