import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { BadVariable, readEnv } from '#lib/config/env.ts'
import { openInstallation } from '#lib/platform/installation.ts'
import { DatabaseFault } from '#lib/stores/postgres/fault.ts'
import { migrationsFolder } from '#lib/stores/postgres/migration-history.ts'
import { pending } from '#lib/stores/postgres/migrations.ts'
import { startTemporary } from '#lib/stores/postgres/temporary.ts'

const USAGE = `npm run migrate                  applies what is new to the database and sets the application's rights
npm run migrate -- --name add_x  writes what prisma/schema has and prisma/migrations lacks as a new migration
                        --empty  an empty one instead, for SQL that Prisma's schema cannot express
npm run migrate -- --check       exits 1 and shows the difference if the two disagree`

/** The SQL from prisma/migrations to prisma/schema, computed on a temporary database. */
async function difference(): Promise<string | undefined> {
  const cluster = await startTemporary()
  try {
    return await pending(cluster.ownerUrl('postgres'))
  } finally {
    await cluster.stop()
  }
}

async function write(name: string, isEmpty: boolean) {
  if (!/^[a-z][a-z0-9_]{0,60}$/.test(name))
    return fail('The name of a migration may contain only lower-case letters, digits and underscores.')
  const sql = isEmpty ? '-- What this changes, and why.\n' : await difference()
  if (sql === undefined) return console.log('prisma/schema and prisma/migrations agree: nothing to write.')
  const timestamp = new Date().toISOString().replace(/\D/g, '').slice(0, 14)
  const folder = join(migrationsFolder, `${timestamp}_${name}`)
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'migration.sql'), sql)
  writeFileSync(join(migrationsFolder, 'migration_lock.toml'), 'provider = "postgresql"\n')
  console.log(
    `Written: ${join(folder, 'migration.sql')}. Read it before you commit it; once released it never changes.`,
  )
}

async function check() {
  const sql = await difference()
  if (sql === undefined) return console.log('prisma/schema and prisma/migrations agree.')
  console.log(sql)
  fail('prisma/schema and prisma/migrations differ. Run: npm run migrate -- --name <what_changed>')
}

async function apply() {
  const { applied, warning, embedded } = await openInstallation(readEnv())
  await embedded?.stop()
  console.log(applied.length ? `Applied: ${applied.join(', ')}.` : 'The database is up to date.')
  if (warning) console.warn(warning)
}

function fail(message: string) {
  console.error(message)
  process.exitCode = 1
}

try {
  const { values } = parseArgs({
    options: {
      name: { type: 'string' },
      empty: { type: 'boolean' },
      check: { type: 'boolean' },
      help: { type: 'boolean' },
    },
  })
  if (values.help) console.log(USAGE)
  else if (values.check) await check()
  else if (values.name !== undefined) await write(values.name, values.empty ?? false)
  else await apply()
} catch (error) {
  if (error instanceof DatabaseFault || error instanceof BadVariable) fail(error.message)
  else if (error instanceof TypeError && 'code' in error) fail(`${error.message}\n\n${USAGE}`)
  else throw error
}
