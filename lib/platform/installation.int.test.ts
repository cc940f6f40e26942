import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { findEmbedded } from '#lib/stores/postgres/embedded.ts'
import { joinInstallation, openInstallation } from './installation.ts'

const home = mkdtempSync(join(tmpdir(), 'kp-join-'))
chmodSync(home, 0o755) // the server's account needs access
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

test('joinInstallation creates nothing when there is no installation', async () => {
  await expect(joinInstallation(settings)).rejects.toMatchObject({ code: 'NOT_PREPARED' })
  expect(readdirSync(home)).toEqual([])
})

test('joinInstallation connects to a running installation as the application’s role, and starts a stopped one temporarily', async () => {
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

test('joinInstallation uses the role created on an external server and never migrates it', async () => {
  const opened = await openInstallation(settings)
  const given = { ...settings, DATABASE_URL: opened.ownerUrl }
  try {
    const joined = await joinInstallation(given)
    expect(await roleOf(joined.appUrl)).toEqual({ role: 'kp_app', may: false })
    const elsewhere = { ...given, KP_SECRET: 'another secret of thirty-two chars' }
    expect((await joinInstallation(elsewhere)).appUrl).toBe(opened.ownerUrl) // this secret has no role there
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
