import { createHash, type Hash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, open, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join, resolve, sep } from 'node:path'
import { Readable } from 'node:stream'
import { finished, pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { Decrypter } from 'age-encryption'
import { type ClientBase, escapeIdentifier } from 'pg'
import { type CopyStreamQuery, from as copyFrom } from 'pg-copy-streams'
import { type Extract, extract } from 'tar-stream'
import * as z from 'zod'
import type { Env } from '#lib/config/env.ts'
import { recordedLedger } from '#lib/domains/settings/service.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { webStream } from '#lib/kernel/web-stream.ts'
import { hasNoRow, ledgerFolder } from '#lib/stores/ledger/ledger-place.ts'
import { objectsAddress } from '#lib/stores/objects/address.ts'
import { prepareCheckpointTables } from '#lib/stores/postgres/checkpoint-tables.ts'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { startEmbedded } from '#lib/stores/postgres/embedded.ts'
import { deploy, historyDifference, localMigrations } from '#lib/stores/postgres/migration-history.ts'
import { prepareQueue } from '#lib/stores/postgres/preparation.ts'
import { type BackupSettings, entryNames, send } from './backup.ts'

const headerForm = z.object({
  format: z.literal('knowledgepulse-backup'),
  version: z.literal(1),
  created_at: z.iso.datetime(),
  migrations: z.array(z.string()),
  queue: z.number(),
  tables: z.array(z.object({ name: z.string(), columns: z.array(z.string()) })),
  partitions: z.array(z.object({ table: z.string(), parent: z.string(), bound: z.string() })),
})
type Header = z.infer<typeof headerForm>
const endForm = z.object({
  tables: z.record(z.string(), z.object({ rows: z.number(), sha256: z.string() })),
  sequences: z.array(z.object({ name: z.string(), value: z.string(), is_called: z.boolean() })),
  objects: z.number(),
  ledger_files: z.number(),
})

const refuse = (message: string): never => {
  throw new Problem('conflict', `${message} Nothing was changed.`)
}
const damaged = (why: string): Problem =>
  new Problem('invalid', `The backup cannot be restored: ${why} Nothing was changed.`)
const unreadable = (why: string): never => {
  throw damaged(why)
}

type RestoreSettings = BackupSettings & Pick<Env, 'DATABASE_URL' | 'DATABASE_MIGRATION_URL'>

export interface RestoreOptions {
  settings: RestoreSettings
  /** age identities (`AGE-SECRET-KEY-1…`); none if the backup is not encrypted. */
  identities: readonly string[]
  /** Replaces the embedded database of the data folder. An external database must be empty. */
  isReplacing: boolean
  /** The current ledger is lost: use the copy in the backup. Erasures made after the backup are not repeated then. */
  isLedgerLost: boolean
}
export interface RestoreReport {
  createdAt: string
  tables: number
  rows: number
  objects: number
  /** Whether the ledger of the backup was put in place. */
  hasLedgerOfBackup: boolean
}

/** One file of the archive. */
type Entry = Extract extends AsyncIterable<infer T> ? T : never

async function* contentOf(entry: Entry): AsyncGenerator<Buffer> {
  for await (const part of entry) {
    if (!Buffer.isBuffer(part)) throw new TypeError('The archive returned no bytes.')
    yield part
  }
}

async function bytesOf(entry: Entry, max = 64 * 1024 * 1024): Promise<Buffer> {
  const parts: Buffer[] = []
  let size = 0
  for await (const part of contentOf(entry)) {
    size += part.length
    if (size > max) unreadable(`the entry ${entry.header.name} is too large.`)
    parts.push(part)
  }
  return Buffer.concat(parts)
}

function parsed<T>(form: z.ZodType<T>, bytes: Buffer, name: string): T {
  let value: unknown
  try {
    value = JSON.parse(bytes.toString('utf8'))
  } catch {
    return unreadable(`${name} is not JSON.`)
  }
  const result = form.safeParse(value)
  return result.success ? result.data : unreadable(`${name} has another format. It may come from a newer version.`)
}

/** The path of an entry inside a folder. @throws Problem `invalid` if it would be outside */
function pathIn(folder: string, name: string): string {
  const path = resolve(folder, name)
  return path.startsWith(`${resolve(folder)}${sep}`) ? path : unreadable('it contains a path outside its folder.')
}

async function writeFileOf(entry: Entry, path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const file = await open(path, 'w', 0o600)
  await pipeline(contentOf(entry), file.createWriteStream({ flush: true }))
}

/** Loads rows into prepared, empty tables in one transaction. Foreign keys and triggers return after the rows, checked. */
class Loading {
  readonly #client: ClientBase
  readonly #header: Header
  #constraints: { table: string; name: string; definition: string }[] = []
  #triggers: { table: string; name: string; state: string }[] = []
  #index = -1
  #copy: CopyStreamQuery | undefined
  #hash: Hash = createHash('sha256')
  readonly loaded = new Map<string, { rows: number; sha256: string }>()

  constructor(client: ClientBase, header: Header) {
    this.#client = client
    this.#header = header
  }

  async begin(): Promise<void> {
    const client = this.#client
    await client.query('BEGIN')
    const existing = await client.query<{ name: string }>(
      `SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname) AS name
         FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'r'`,
    )
    const names = new Set(existing.rows.map(({ name }) => name))
    for (const { table, parent, bound } of this.#header.partitions) {
      if (names.has(table)) continue
      await client.query(`CREATE TABLE ${table} PARTITION OF ${parent} ${bound}`)
      names.add(table)
    }
    const missing = this.#header.tables.find(({ name }) => !names.has(name))
    if (missing) unreadable(`this version has no table ${missing.name}.`)
    const tables = this.#header.tables.map(({ name }) => name)
    const constraints = await client.query<{ table: string; name: string; definition: string }>(
      `SELECT conrelid::regclass::text AS "table", quote_ident(conname) AS name, pg_get_constraintdef(oid) AS definition
         FROM pg_constraint WHERE contype = 'f' AND conparentid = 0`,
    )
    this.#constraints = constraints.rows
    const triggers = await client.query<{ table: string; name: string; state: string }>(
      `SELECT tgrelid::regclass::text AS "table", quote_ident(tgname) AS name, tgenabled AS state
         FROM pg_trigger WHERE NOT tgisinternal AND tgparentid = 0 AND tgenabled <> 'D'`,
    )
    this.#triggers = triggers.rows
    for (const { table, name } of this.#triggers) await client.query(`ALTER TABLE ${table} DISABLE TRIGGER ${name}`)
    for (const { table, name } of this.#constraints) await client.query(`ALTER TABLE ${table} DROP CONSTRAINT ${name}`)
    // The migrations write initial rows, and the backup has these rows as well.
    if (tables.length > 0) await client.query(`TRUNCATE ${tables.join(', ')}`)
  }

  async #endTable(): Promise<void> {
    const table = this.#header.tables[this.#index]
    if (this.#copy === undefined || table === undefined) return
    const copy = this.#copy
    this.#copy = undefined
    copy.end()
    await finished(copy)
    this.loaded.set(table.name, { rows: copy.rowCount, sha256: this.#hash.digest('hex') })
  }

  async part(index: number, bytes: Buffer): Promise<void> {
    if (index !== this.#index) {
      await this.#endTable()
      const table = this.#header.tables[index] ?? unreadable('it contains rows of an unknown table.')
      this.#index = index
      this.#hash = createHash('sha256')
      this.#copy = this.#client.query(copyFrom(`COPY ${table.name} (${table.columns.join(', ')}) FROM STDIN`))
    }
    this.#hash.update(bytes)
    if (this.#copy && !this.#copy.write(bytes)) await once(this.#copy, 'drain')
  }

  /** Ends the connection's COPY, so that the transaction can be rolled back. */
  async abort(): Promise<void> {
    const copy = this.#copy
    this.#copy = undefined
    if (copy) {
      const ended = finished(copy).catch(() => {}) // the caller throws the reason
      copy.destroy()
      await ended
    }
    await this.#client.query('ROLLBACK')
  }

  async finish(end: z.infer<typeof endForm>): Promise<void> {
    await this.#endTable()
    const client = this.#client
    const none = { rows: 0, sha256: createHash('sha256').digest('hex') }
    for (const { name } of this.#header.tables) {
      const [expected, found] = [end.tables[name] ?? none, this.loaded.get(name) ?? none]
      if (expected.rows !== found.rows || expected.sha256 !== found.sha256) unreadable(`${name} is not complete.`)
    }
    for (const { name, value, is_called } of end.sequences)
      await client.query('SELECT setval($1::regclass, $2::bigint, $3)', [name, value, is_called])
    // The workers that had locked jobs are gone.
    await client.query(
      'UPDATE graphile_worker._private_jobs SET locked_at = NULL, locked_by = NULL WHERE locked_at IS NOT NULL',
    )
    for (const { table, name, definition } of this.#constraints)
      await client.query(`ALTER TABLE ${table} ADD CONSTRAINT ${name} ${definition}`)
    const states: Record<string, string> = { O: 'ENABLE', A: 'ENABLE ALWAYS', R: 'ENABLE REPLICA' }
    for (const { table, name, state } of this.#triggers)
      await client.query(`ALTER TABLE ${table} ${states[state] ?? 'ENABLE'} TRIGGER ${name}`)
    await client.query('COMMIT')
    await client.query('ANALYZE')
  }
}

async function prepareTables(ownerUrl: string, header: Header): Promise<void> {
  const applied = new Set(header.migrations)
  const local = localMigrations()
  const unknown = header.migrations.find((name) => !local.some((one) => one.name === name))
  if (unknown !== undefined)
    unreadable(`it was made by a newer version of KnowledgePulse (${unknown}). Restore it with that version.`)
  await withConnection(ownerUrl, async (owner) => {
    await deploy(
      owner,
      local.filter(({ name }) => applied.has(name)),
    )
    await prepareQueue(ownerUrl)
    await prepareCheckpointTables(owner, ownerUrl)
    const { rows } = await owner.query<{ id: number }>('SELECT max(id)::int AS id FROM graphile_worker.migrations')
    if ((rows[0]?.id ?? 0) < header.queue) unreadable('its job queue is newer than the one of this version.')
  })
}

interface Target {
  ownerUrl: string
  /** Makes the loaded database the installation's. */
  adopt(): Promise<void>
  close(): Promise<void>
}

const embeddedName = 'kp'
const loadingName = 'kp_restoring'

/** The embedded server with an empty database beside the present one, which is replaced only when everything is loaded. */
async function embeddedTarget({ KP_DATA_DIR }: RestoreSettings, isReplacing: boolean): Promise<Target> {
  const server = await startEmbedded(KP_DATA_DIR)
  try {
    const maintenance = server.ownerUrl('postgres')
    const names = await withConnection(maintenance, (client) =>
      client.query<{ name: string }>('SELECT datname AS name FROM pg_database'),
    )
    const exists = names.rows.some(({ name }) => name === embeddedName)
    if (exists && !isReplacing)
      refuse(
        `${KP_DATA_DIR} already contains an installation. Repeat the command with --replace to replace its database.`,
      )
    await withConnection(maintenance, async (client) => {
      await client.query(`DROP DATABASE IF EXISTS ${escapeIdentifier(loadingName)} WITH (FORCE)`)
      await client.query(`CREATE DATABASE ${escapeIdentifier(loadingName)} TEMPLATE template0 ENCODING 'UTF8'`)
    })
    return {
      ownerUrl: server.ownerUrl(loadingName),
      adopt: () =>
        withConnection(maintenance, async (client) => {
          await client.query(`DROP DATABASE IF EXISTS ${escapeIdentifier(embeddedName)} WITH (FORCE)`)
          await client.query(
            `ALTER DATABASE ${escapeIdentifier(loadingName)} RENAME TO ${escapeIdentifier(embeddedName)}`,
          )
        }),
      close: async () => {
        await withConnection(maintenance, (client) =>
          client.query(`DROP DATABASE IF EXISTS ${escapeIdentifier(loadingName)} WITH (FORCE)`),
        )
        await server.stop()
      },
    }
  } catch (error) {
    await server.stop()
    throw error
  }
}

async function externalTarget(ownerUrl: string): Promise<Target> {
  await withConnection(ownerUrl, async (client) => {
    if ((await historyDifference(client)) === undefined) return
    if ((await recordedLedger(client)) !== undefined)
      refuse(
        'The database of DATABASE_URL already contains an installation. Create an empty database and set its address.',
      )
  })
  return { ownerUrl, adopt: async () => {}, close: async () => {} }
}

/** Files of the archive, written beside their place first, so that a failed restore leaves no half of them. */
class Files {
  readonly #places: { draft: string; place: string }[] = []

  /** Where the files of a folder are written until {@link adopt}. */
  async draftOf(place: string): Promise<string> {
    const known = this.#places.find((one) => one.place === place)
    if (known) return known.draft
    const draft = `${place}.restoring`
    await rm(draft, { recursive: true, force: true })
    this.#places.push({ draft, place })
    return draft
  }

  async adopt(): Promise<void> {
    for (const { draft, place } of this.#places) {
      if (!existsSync(draft)) continue
      if (existsSync(place)) await rename(place, `${place}.replaced`)
      await mkdir(dirname(place), { recursive: true, mode: 0o700 })
      await rename(draft, place)
      await rm(`${place}.replaced`, { recursive: true, force: true })
    }
  }

  async discard(): Promise<void> {
    for (const { draft } of this.#places) await rm(draft, { recursive: true, force: true })
  }
}

/** @throws Problem `conflict` if no ledger is in place, because erased data would come back */
async function ledgerPlace({
  settings,
  isLedgerLost,
}: RestoreOptions): Promise<{ folder: string; isMissing: boolean }> {
  const folder = ledgerFolder(settings)
  const isMissing = await hasNoRow(folder)
  if (isMissing && !isLedgerLost)
    refuse(
      `There is no erasure ledger in ${folder}, so erased data would come back. Put the newest copy of the ledger there or set KP_LEDGER_URL. If every newer copy is lost, repeat the command with --ledger-lost.`,
    )
  return { folder, isMissing }
}

async function feed(bytes: AsyncIterable<Uint8Array>, archive: Extract): Promise<void> {
  await send(bytes, archive)
  archive.end(undefined)
}

async function decrypted(
  bytes: AsyncIterable<Uint8Array>,
  identities: readonly string[],
): Promise<AsyncIterable<Uint8Array>> {
  if (identities.length === 0) return bytes
  const decrypter = new Decrypter()
  for (const identity of identities) decrypter.addIdentity(identity)
  return await decrypter.decrypt(webStream(bytes))
}

/** Errors of the disk name their system call. All others come from decrypting and unpacking. */
const faultOf = (error: unknown): Error =>
  error instanceof Error && 'syscall' in error
    ? error
    : damaged('it is damaged, was cut short, or is encrypted for another key.')

/** The files of the archive, in order. @throws Problem `invalid` if the archive is damaged or the key does not open it */
function entriesOf(bytes: AsyncIterable<Uint8Array>, identities: readonly string[]): AsyncIterable<Entry> {
  const archive = extract()
  const read = async (): Promise<void> => {
    const unpacked = createGunzip()
    await Promise.all([pipeline(Readable.from(await decrypted(bytes, identities)), unpacked), feed(unpacked, archive)])
  }
  read().catch((error: unknown) => archive.destroy(faultOf(error)))
  return archive
}

interface Loaded {
  header: Header
  rows: number
  objects: number
  secret: string | undefined
}

/** Loads the archive into the empty database, and its files into drafts. Nothing of the installation changes. */
async function load(client: ClientBase, entries: AsyncIterable<Entry>, places: Places): Promise<Loaded> {
  let loading: { header: Header; tables: Loading } | undefined
  let end: z.infer<typeof endForm> | undefined
  let secret: string | undefined
  const counts = { objects: 0, ledger_files: 0 }
  try {
    for await (const entry of entries) {
      const { name, type } = entry.header
      if (type !== 'file') unreadable('it contains something other than files.')
      if (loading === undefined) {
        if (name !== entryNames.header) unreadable('it is not a backup of KnowledgePulse.')
        const header = parsed(headerForm, await bytesOf(entry), name)
        await prepareTables(places.ownerUrl, header)
        loading = { header, tables: new Loading(client, header) }
        await loading.tables.begin()
      } else if (name === entryNames.secret) {
        secret = (await bytesOf(entry)).toString('utf8').trim()
        await checkSecret(places.settings, secret)
      } else if (name === entryNames.end) end = parsed(endForm, await bytesOf(entry), name)
      else if (name.startsWith(entryNames.objects)) {
        counts.objects += 1
        await places.objects(entry, name.slice(entryNames.objects.length))
      } else if (name.startsWith(entryNames.ledger)) {
        counts.ledger_files += 1
        await places.ledger(entry, name.slice(entryNames.ledger.length))
      } else {
        const index = /^tables\/(\d+)\/\d+\.copy$/.exec(name)?.[1] ?? unreadable('it has an unknown entry.')
        await loading.tables.part(Number(index), await bytesOf(entry))
      }
    }
    if (loading === undefined || end === undefined) return unreadable('it was cut short. Use another copy.')
    if (counts.objects !== end.objects || counts.ledger_files !== end.ledger_files)
      unreadable('some of its files are missing.')
    const { header, tables } = loading
    await tables.finish(end)
    const rows = [...tables.loaded.values()].reduce((total, table) => total + table.rows, 0)
    return { header, rows, objects: counts.objects, secret }
  } catch (error) {
    await loading?.tables.abort()
    throw error
  }
}

/** Where the parts of an archive go. */
interface Places {
  ownerUrl: string
  settings: RestoreSettings
  objects(entry: Entry, name: string): Promise<void>
  ledger(entry: Entry, name: string): Promise<void>
}

/**
 * Restores a backup into the installation of the settings, which must be stopped. Until everything is loaded and checked, nothing is
 * replaced. The next start applies newer migrations and repeats the erasures of the ledger before it serves a request.
 * @throws Problem `conflict` if data would be overwritten or erased data could come back, `invalid` if the backup is damaged, foreign,
 * cut short or newer; DatabaseFault
 */
export async function restoreBackup(bytes: AsyncIterable<Uint8Array>, options: RestoreOptions): Promise<RestoreReport> {
  const { settings, identities, isReplacing } = options
  const ledger = await ledgerPlace(options)
  const givenUrl = settings.DATABASE_MIGRATION_URL ?? settings.DATABASE_URL
  const objects = objectsAddress(settings.KP_OBJECTS_URL, settings.KP_DATA_DIR)
  const target = givenUrl === undefined ? await embeddedTarget(settings, isReplacing) : await externalTarget(givenUrl)
  const files = new Files()
  const places: Places = {
    ownerUrl: target.ownerUrl,
    settings,
    objects: async (entry, name) => {
      if (objects.provider !== 'files') entry.resume()
      else await writeFileOf(entry, pathIn(await files.draftOf(objects.folder), name))
    },
    ledger: async (entry, name) => {
      if (!ledger.isMissing) entry.resume()
      else await writeFileOf(entry, pathIn(await files.draftOf(ledger.folder), name))
    },
  }
  try {
    const loaded = await withConnection(target.ownerUrl, (client) => load(client, entriesOf(bytes, identities), places))
    await target.adopt()
    await files.adopt()
    if (loaded.secret !== undefined) await writeSecret(settings, loaded.secret)
    const { header, rows } = loaded
    return {
      createdAt: header.created_at,
      tables: header.tables.length,
      rows,
      objects: loaded.objects,
      hasLedgerOfBackup: ledger.isMissing,
    }
  } finally {
    await files.discard()
    await target.close()
  }
}

const secretFile = ({ KP_DATA_DIR }: RestoreSettings): string => join(KP_DATA_DIR, 'secret')

/** @throws Problem `conflict` if the installation has another secret than the backup */
async function checkSecret(settings: RestoreSettings, secret: string): Promise<void> {
  const path = secretFile(settings)
  if (settings.KP_SECRET !== undefined && settings.KP_SECRET !== secret)
    refuse('KP_SECRET is not the secret of the backup. Remove the variable, or set it to that secret.')
  if (settings.KP_SECRET === undefined && existsSync(path) && (await readFile(path, 'utf8')).trim() !== secret)
    refuse(`${path} is not the secret of the backup. Move it away, and repeat the command.`)
}

async function writeSecret(settings: RestoreSettings, secret: string): Promise<void> {
  const path = secretFile(settings)
  if (settings.KP_SECRET !== undefined || existsSync(path)) return
  await mkdir(settings.KP_DATA_DIR, { recursive: true })
  await writeFile(path, `${secret}\n`, { mode: 0o600, flag: 'wx', flush: true })
}
