import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { PrismaPg } from '@prisma/adapter-pg'
import {
  bindMigrationAwareSqlAdapterFactory,
  ColumnTypeEnum,
  type SqlDriverAdapter,
  type SqlMigrationAwareDriverAdapterFactory,
  type SqlQueryable,
} from '@prisma/driver-adapter-utils'
import * as wasm from '@prisma/schema-engine-wasm/schema_engine_bg'
import type pg from 'pg'
import { localMigrations, migrationsFolder, schemaFolder } from './migration-history.ts'
import { createPool } from './pool.ts'

const TYPE_CHAR = 18 // PostgreSQL's internal "char", common in pg_catalog
const TYPE_TEXT = 25
const MARK = '\u0001char'

/**
 * Workaround 1 of 3 (adapter-pg 7.10.1): the adapter rejects columns of type "char", which the engine expects as characters. They pass
 * through it as text under a marked name…
 */
function markChars(client: pg.PoolClient) {
  client.connection.prependListener('rowDescription', (message: { fields: { name: string; dataTypeID: number }[] }) => {
    for (const field of message.fields) {
      if (field.dataTypeID === TYPE_CHAR) Object.assign(field, { dataTypeID: TYPE_TEXT, name: field.name + MARK })
    }
  })
}

/** … and get their name and type back afterwards. */
function unmarkChars<T extends SqlQueryable>(queryable: T): T {
  const query = queryable.queryRaw.bind(queryable)
  queryable.queryRaw = async (params) => {
    const result = await query(params)
    for (const [column, name] of result.columnNames.entries()) {
      if (!name.endsWith(MARK)) continue
      result.columnNames[column] = name.slice(0, -MARK.length)
      result.columnTypes[column] = ColumnTypeEnum.Character
    }
    return result
  }
  return queryable
}

async function connect(url: string): Promise<SqlDriverAdapter> {
  const pool = createPool({ connectionString: url, max: 2 })
  pool.on('connect', markChars)
  const adapter = unmarkChars(await new PrismaPg(pool, { disposeExternalPool: true }).connect())
  const begin = adapter.startTransaction.bind(adapter)
  adapter.startTransaction = async (isolation) => unmarkChars(await begin(isolation))
  // Workaround 2: the adapter splits scripts at every ';', even inside comments and $$ bodies. Without arguments PostgreSQL splits them
  // itself.
  adapter.executeScript = async (sql) => {
    await adapter.executeRaw({ sql, args: [], argTypes: [] })
  }
  return adapter
}

/** Workaround 3: adapter-pg drops its shadow database before closing its own connections to it, which PostgreSQL rejects. */
class Adapters implements SqlMigrationAwareDriverAdapterFactory {
  readonly provider = 'postgres'
  readonly adapterName = '@prisma/adapter-pg'
  readonly #url: string

  constructor(url: string) {
    this.#url = url
  }

  connect() {
    return connect(this.#url)
  }

  async connectToShadowDb() {
    const admin = await this.connect()
    const database = `shadow_${crypto.randomUUID().replaceAll('-', '')}`
    await admin.executeScript(`CREATE DATABASE "${database}" TEMPLATE template0`)
    const url = new URL(this.#url)
    url.pathname = `/${database}`
    const shadow = await connect(url.href)
    const close = shadow.dispose.bind(shadow)
    shadow.dispose = async () => {
      await close()
      await admin.executeScript(`DROP DATABASE "${database}" WITH (FORCE)`)
      await admin.dispose()
    }
    return shadow
  }
}

let isLoaded = false

function loadEngine() {
  if (isLoaded) return
  const script = createRequire(import.meta.url).resolve('@prisma/schema-engine-wasm/schema_engine_bg')
  const module = new WebAssembly.Module(readFileSync(script.replace(/\.js$/, '.wasm')))
  const { exports } = new WebAssembly.Instance(module, { './schema_engine_bg.js': { ...wasm } })
  const { __wbindgen_start: start } = exports
  if (typeof start !== 'function') throw new Error('@prisma/schema-engine-wasm has no start function')
  Object.assign(globalThis, {
    PRISMA_WASM_PANIC_REGISTRY: { set_message: (text: string) => console.error(`schema engine: ${text}`) },
  })
  wasm.__wbg_set_wasm(exports)
  start()
  isLoaded = true
}

const schemaFiles = () =>
  readdirSync(schemaFolder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.prisma'))
    .sort()
    .map((file) => ({ path: join(schemaFolder, file), content: readFileSync(join(schemaFolder, file), 'utf8') }))

const filters: wasm.SchemaFilter = { externalTables: [], externalEnums: [] }

const migrationsList = (): wasm.MigrationList => ({
  baseDir: migrationsFolder,
  lockfile: { path: 'migration_lock.toml', content: 'provider = "postgresql"\n' },
  shadowDbInitScript: '',
  migrationDirectories: localMigrations().map(({ name, sql }) => ({
    path: name,
    migrationFile: { path: 'migration.sql', content: { tag: 'ok', value: sql } },
  })),
})

/** Runs `work` with Prisma's schema engine (WebAssembly, no download) on the owner's connection, then frees the engine. */
async function withEngine<T>(ownerUrl: string, work: (engine: wasm.SchemaEngine) => Promise<T>): Promise<T> {
  loadEngine()
  const adapters = new Adapters(ownerUrl)
  const connected: SqlDriverAdapter[] = []
  const tracked: SqlMigrationAwareDriverAdapterFactory = {
    provider: adapters.provider,
    adapterName: adapters.adapterName,
    connect: async () => {
      const adapter = await adapters.connect()
      connected.push(adapter)
      return adapter
    },
    connectToShadowDb: () => adapters.connectToShadowDb(),
  }
  const datamodels = schemaFiles().map(({ path, content }): [string, string] => [path, content])
  const engine = await wasm.SchemaEngine.new({ datamodels }, () => {}, bindMigrationAwareSqlAdapterFactory(tracked))
  try {
    return await work(engine)
  } finally {
    engine.free()
    for (const adapter of connected) await adapter.dispose()
  }
}

/** The SQL that leads from prisma/migrations to prisma/schema; undefined if they agree. Needs the right to create a shadow database. */
export const pending = (ownerUrl: string): Promise<string | undefined> =>
  withEngine(ownerUrl, async (engine) => {
    const { exitCode, stdout } = await engine.diff({
      from: { tag: 'migrations', ...migrationsList() },
      to: { tag: 'schemaDatamodel', files: schemaFiles() },
      script: true,
      exitCode: true,
      filters,
    })
    return exitCode === 0 ? undefined : (stdout ?? '')
  })

/** How the database's own list of migrations differs from prisma/migrations. */
export const diagnose = (ownerUrl: string): Promise<wasm.DiagnoseMigrationHistoryOutput> =>
  withEngine(ownerUrl, (engine) =>
    engine.diagnoseMigrationHistory({ migrationsList: migrationsList(), optInToShadowDatabase: false, filters }),
  )
