import { randomBytes } from 'node:crypto'
import { errorCode } from '#lib/kernel/error-code.ts'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import type { TestApp } from './app.ts'
import type { TestDatabase } from './database.ts'

/** object_in_use: another connection opened before the copy began. */
const inUse = '55006'

/** Copies the test's database, like restoring a backup. Ends all connections to the original, which reconnect. */
export async function backupOf({
  ownerUrl,
  env,
}: {
  ownerUrl: string
  env: TestApp['app']['env']
}): Promise<TestDatabase> {
  const at = (url: string, database: string) => Object.assign(new URL(url), { pathname: `/${database}` }).href
  const name = `backup_${randomBytes(6).toString('hex')}`
  const original = new URL(ownerUrl).pathname.slice(1)
  await withConnection(at(ownerUrl, 'postgres'), async (admin) => {
    for (;;) {
      await admin.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [original])
      const fault = await admin.query(`CREATE DATABASE ${name} TEMPLATE ${original}`).catch((error: unknown) => error)
      if (errorCode(fault) !== inUse) {
        if (fault instanceof Error) throw fault
        return
      }
    }
  })
  return {
    ownerUrl: at(ownerUrl, name),
    appUrl: at(env.DATABASE_URL ?? ownerUrl, name),
    drop: async () => {
      await withConnection(at(ownerUrl, 'postgres'), (admin) =>
        admin.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
      )
    },
  }
}
