import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { withConnection } from './connection.ts'
import { findEmbedded } from './embedded.ts'
import { joinInstallation, openInstallation } from './installation.ts'

const home = mkdtempSync(join(tmpdir(), 'kp-join-'))
chmodSync(home, 0o755) // the server's account has to pass
const settings = {
  KP_DATA_DIR: home,
  DATABASE_URL: undefined,
  DATABASE_MIGRATION_URL: undefined,
  KP_SECRET: 'a secret of thirty-two characters',
}
afterAll(() => rmSync(home, { recursive: true, force: true }))

const roleOf = (url: string) =>
  withConnection(url, async (client) => {
    const { rows } = await client.query<{ role: string; may: boolean }>(
      `SELECT current_user AS role, has_table_privilege('audit_entries', 'DELETE') AS may`,
    )
    return rows[0]
  })

test('nothing is made where there is no installation', async () => {
  await expect(joinInstallation(settings)).rejects.toMatchObject({ code: 'NOT_PREPARED' })
  expect(readdirSync(home)).toEqual([])
})

test('a running one is joined with the application’s role, and goes on; a standing one is started for a while', async () => {
  const opened = await openInstallation(settings)
  try {
    expect((await findEmbedded(home)).ownerPid).toBe(String(process.pid))
    const joined = await joinInstallation(settings)
    expect(joined.appUrl).toBe(opened.appUrl)
    expect(await roleOf(joined.appUrl)).toEqual({ role: 'kp_app', may: false })
    await joined.leave()
    expect(await roleOf(opened.appUrl)).toBeDefined()
  } finally {
    await opened.embedded?.stop()
  }
  expect((await findEmbedded(home)).ownerPid).toBeUndefined()
  const joined = await joinInstallation(settings)
  expect(await roleOf(joined.appUrl)).toEqual({ role: 'kp_app', may: false })
  await joined.leave()
  expect(await findEmbedded(home)).toMatchObject({ exists: true, ownerPid: undefined })
})

test('a server that was given is joined by the role that was made there, and never migrated', async () => {
  const opened = await openInstallation(settings)
  const given = { ...settings, DATABASE_URL: opened.ownerUrl }
  try {
    const joined = await joinInstallation(given)
    expect(await roleOf(joined.appUrl)).toEqual({ role: 'kp_app', may: false })
    const elsewhere = { ...given, KP_SECRET: 'another secret of thirty-two chars' }
    expect((await joinInstallation(elsewhere)).appUrl).toBe(opened.ownerUrl) // no role of that secret's was made
    const [newest] = await withConnection(
      opened.ownerUrl,
      async (owner) =>
        (await owner.query<{ name: string }>('SELECT max(migration_name) AS name FROM _prisma_migrations')).rows,
    )
    await withConnection(opened.ownerUrl, (owner) =>
      owner.query('DELETE FROM _prisma_migrations WHERE migration_name = $1', [newest?.name]),
    )
    await expect(joinInstallation(given)).rejects.toMatchObject({ code: 'NOT_PREPARED' })
    const left = await withConnection(opened.ownerUrl, (owner) =>
      owner.query('SELECT FROM _prisma_migrations WHERE migration_name = $1', [newest?.name]),
    )
    expect(left.rowCount).toBe(0)
  } finally {
    await opened.embedded?.stop()
  }
})
