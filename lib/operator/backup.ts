import { createHash } from 'node:crypto'
import { open, readdir, readFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { Encrypter } from 'age-encryption'
import type { ClientBase } from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import { type Pack, pack } from 'tar-stream'
import type { Env } from '#lib/config/env.ts'
import { errorCode } from '#lib/kernel/error-code.ts'
import { webStream } from '#lib/kernel/web-stream.ts'
import { ledgerFolder } from '#lib/stores/ledger/ledger-place.ts'
import { objectsAddress } from '#lib/stores/objects/address.ts'
import { withConnection } from '#lib/stores/postgres/connection.ts'

// A backup is age(gzip(tar)), so that `age --decrypt | tar -xz` opens it without this program (https://age-encryption.org/v1).
// It is a logical copy: the embedded server has no pg_dump, and a logical copy can be restored to another version of PostgreSQL.

/** The first entry of the archive: what a restore must know before it loads rows. */
export interface BackupHeader {
  format: 'knowledgepulse-backup'
  version: 1
  created_at: string
  /** The applied migrations in their order: a restore applies exactly these before it loads rows. */
  migrations: string[]
  /** The version of the job queue's tables. */
  queue: number
  tables: BackupTable[]
  /** Partitions with their bounds, which the application creates while it runs. */
  partitions: { table: string; parent: string; bound: string }[]
}
export interface BackupTable {
  /** The quoted name with its schema. */
  name: string
  /** Quoted names; generated columns are left out. */
  columns: string[]
}
/** The last entry of the archive. A file without it was cut short. */
export interface BackupEnd {
  /** By table: rows, and SHA-256 (hexadecimal) of its COPY text. */
  tables: Record<string, { rows: number; sha256: string }>
  sequences: { name: string; value: string; is_called: boolean }[]
  objects: number
  ledger_files: number
}
export const entryNames = {
  header: 'backup.json',
  secret: 'secret',
  table: (index: number, part: number): string =>
    `tables/${String(index).padStart(4, '0')}/${String(part).padStart(6, '0')}.copy`,
  objects: 'objects/',
  ledger: 'ledger/',
  end: 'complete.json',
} as const

/** Bytes of a table in one entry of the archive. */
const partBytes = 4 * 1024 * 1024

/** Everything but PostgreSQL's own schemas and the history of migrations, which a restore writes itself. */
const ordinaryTables = `c.relkind = 'r' AND n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema' AND c.relname <> '_prisma_migrations'
  AND NOT (n.nspname = 'graphile_worker' AND c.relname = 'migrations')
  AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')`

const quotedName = `quote_ident(n.nspname) || '.' || quote_ident(c.relname)`

async function headerOf(client: ClientBase, now: Date): Promise<BackupHeader> {
  const migrations = await client.query<{ name: string }>(
    'SELECT migration_name AS name FROM _prisma_migrations WHERE rolled_back_at IS NULL ORDER BY migration_name',
  )
  const queue = await client.query<{ id: number }>(
    'SELECT coalesce(max(id), 0)::int AS id FROM graphile_worker.migrations',
  )
  const tables = await client.query<BackupTable>(
    `SELECT ${quotedName} AS name,
            array(SELECT quote_ident(a.attname) FROM pg_attribute a
                   WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' ORDER BY a.attnum) AS columns
       FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE ${ordinaryTables} ORDER BY 1`,
  )
  const partitions = await client.query<BackupHeader['partitions'][number]>(
    `SELECT ${quotedName} AS "table", i.inhparent::regclass::text AS parent, pg_get_expr(c.relpartbound, c.oid) AS bound
       FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_inherits i ON i.inhrelid = c.oid
      WHERE c.relispartition AND c.relkind = 'r' ORDER BY 1`,
  )
  return {
    format: 'knowledgepulse-backup',
    version: 1,
    created_at: now.toISOString(),
    migrations: migrations.rows.map(({ name }) => name),
    queue: queue.rows[0]?.id ?? 0,
    tables: tables.rows,
    partitions: partitions.rows,
  }
}

/** What a stream of tar-stream shares with Node's. */
interface Sink {
  write(bytes: Uint8Array): boolean
  on(event: 'drain' | 'close', listener: () => void): unknown
  off(event: 'drain' | 'close', listener: () => void): unknown
}
/** Writes all bytes, and waits whenever the target is full. Stops when the target is closed. */
export async function send(bytes: AsyncIterable<Uint8Array>, target: Sink): Promise<void> {
  for await (const chunk of bytes) {
    if (target.write(chunk)) continue
    await new Promise<void>((done) => {
      const go = (): void => {
        target.off('drain', go)
        target.off('close', go)
        done()
      }
      target.on('drain', go)
      target.on('close', go)
    })
  }
}

const add = (archive: Pack, name: string, bytes: Buffer): Promise<void> =>
  new Promise((done, fail) => {
    archive.entry({ name, mode: 0o600 }, bytes, (error) => (error ? fail(error) : done()))
  })
const addJson = (archive: Pack, name: string, value: BackupHeader | BackupEnd): Promise<void> =>
  add(archive, name, Buffer.from(`${JSON.stringify(value, null, 2)}\n`))

async function addTable(
  client: ClientBase,
  archive: Pack,
  { name, columns }: BackupTable,
  index: number,
): Promise<{ rows: number; sha256: string }> {
  const rows = client.query(copyTo(`COPY ${name} (${columns.join(', ')}) TO STDOUT`))
  const hash = createHash('sha256')
  let part = 0
  let waiting: Buffer[] = []
  let bytes = 0
  const flush = async (): Promise<void> => {
    await add(archive, entryNames.table(index, part), Buffer.concat(waiting))
    part += 1
    waiting = []
    bytes = 0
  }
  for await (const chunk of rows) {
    if (!Buffer.isBuffer(chunk)) throw new TypeError('COPY returned no bytes.')
    hash.update(chunk)
    waiting.push(chunk)
    bytes += chunk.length
    if (bytes >= partBytes) await flush()
  }
  if (bytes > 0) await flush()
  return { rows: rows.rowCount, sha256: hash.digest('hex') }
}

/** Adds every file of a folder. A file that is deleted meanwhile is left out. @returns the number of files */
async function addFolder(archive: Pack, folder: string, prefix: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return []
    throw error
  })
  let count = 0
  for (const entry of entries.filter((one) => one.isFile())) {
    const path = join(entry.parentPath, entry.name)
    const file = await open(path, 'r').catch((error: unknown) => {
      if (errorCode(error) === 'ENOENT') return undefined
      throw error
    })
    if (file === undefined) continue
    try {
      // The ledger grows while it is read: what was there at this moment is copied.
      const { size } = await file.stat()
      const target = archive.entry({ name: `${prefix}${relative(folder, path)}`, size, mode: 0o600 })
      if (size > 0) await send(file.createReadStream({ end: size - 1, autoClose: false }), target)
      target.end(undefined)
    } finally {
      await file.close()
    }
    count += 1
  }
  return count
}

/** Sequences do not belong to a snapshot, so they are read last: no value that a copied row has is given out again. */
async function sequencesOf(client: ClientBase): Promise<BackupEnd['sequences']> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT ${quotedName} AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE c.relkind = 'S' AND n.nspname NOT LIKE 'pg\\_%' ORDER BY 1`,
  )
  const sequences: BackupEnd['sequences'] = []
  for (const { name } of rows) {
    const state = await client.query<{ value: string; is_called: boolean }>(
      `SELECT last_value::text AS value, is_called FROM ${name}`,
    )
    for (const { value, is_called } of state.rows) sequences.push({ name, value, is_called })
  }
  return sequences
}

export interface BackupReport {
  tables: number
  rows: number
  objects: number
  ledgerFiles: number
}

/** The settings that say where the parts of an installation are. */
export type BackupSettings = Pick<
  Env,
  | 'KP_DATA_DIR'
  | 'KP_OBJECTS_URL'
  | 'KP_SECRET'
  | 'KP_LEDGER_URL'
  | 'KP_LEDGER_MARK'
  | 'HOME'
  | 'XDG_STATE_HOME'
  | 'XDG_DATA_HOME'
>

async function fill(archive: Pack, ownerUrl: string, settings: BackupSettings, now: Date): Promise<BackupReport> {
  return withConnection(ownerUrl, async (client) => {
    await client.query(`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`)
    await client.query(`SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = '10s'`)
    const header = await headerOf(client, now)
    await addJson(archive, entryNames.header, header)
    if (settings.KP_SECRET === undefined) {
      const secret = await readFile(join(settings.KP_DATA_DIR, 'secret'))
      await add(archive, entryNames.secret, secret)
    }
    const tables: BackupEnd['tables'] = {}
    for (const [index, table] of header.tables.entries())
      tables[table.name] = await addTable(client, archive, table, index)
    const sequences = await sequencesOf(client)
    await client.query('COMMIT')
    // After the rows: every object and erasure that the rows name is in the copy. An object without a row does no harm.
    const objects = objectsAddress(settings.KP_OBJECTS_URL, settings.KP_DATA_DIR)
    const objectCount = objects.provider === 'files' ? await addFolder(archive, objects.folder, entryNames.objects) : 0
    const ledgerFiles = await addFolder(archive, ledgerFolder(settings), entryNames.ledger)
    await addJson(archive, entryNames.end, { tables, sequences, objects: objectCount, ledger_files: ledgerFiles })
    archive.finalize()
    const rows = Object.values(tables).reduce((total, table) => total + table.rows, 0)
    return { tables: header.tables.length, rows, objects: objectCount, ledgerFiles }
  })
}

/**
 * Writes a consistent copy of a running or stopped installation: every table in one snapshot, then the objects of the data folder, the
 * secret if it is a file, and the ledger. Nobody has to stop. Without recipients the copy is not encrypted.
 * @param recipients age recipients (`age1…`)
 * @param write receives the bytes of the file, and resolves when they are stored
 */
export async function writeBackup(
  {
    ownerUrl,
    settings,
    recipients,
    now,
  }: {
    ownerUrl: string
    settings: BackupSettings
    recipients: readonly string[]
    now: Date
  },
  write: (bytes: AsyncIterable<Uint8Array>) => Promise<void>,
): Promise<BackupReport> {
  const archive = pack()
  const compressed = createGzip({ level: 6 })
  pipeline(Readable.from(archive), compressed).catch(() => {}) // the error also ends `compressed`
  const filled = fill(archive, ownerUrl, settings, now)
  filled.catch((error: unknown) => archive.destroy(error instanceof Error ? error : new Error(String(error))))
  const encrypter = new Encrypter()
  for (const recipient of recipients) encrypter.addRecipient(recipient)
  const bytes: AsyncIterable<Uint8Array> =
    recipients.length === 0 ? compressed : await encrypter.encrypt(webStream(compressed))
  const [report] = await Promise.all([filled, write(bytes)])
  return report
}
