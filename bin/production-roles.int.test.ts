import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, inject, onTestFinished, test } from 'vitest'
import { readEnv } from '#lib/config/env.ts'
import { errorCode } from '#lib/kernel/error-code.ts'
import { openInstallation } from '#lib/platform/installation.ts'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { blocksOf, sectionOf } from '#lib/testing/guide-walk.ts'

const section = sectionOf('operate.md', '### Database')

test('the SQL and the settings of the guide create an installation whose application cannot alter its audit log', async () => {
  const { ownerUrl } = inject('template')
  const own = `kp_${randomBytes(6).toString('hex')}`
  const password = randomBytes(12).toString('hex')
  const here = (text: string): string =>
    text
      .replaceAll(/\bkp_(owner|app)\b/g, `${own}_$1`)
      .replaceAll(/\bDATABASE kp\b/g, `DATABASE ${own}`)
      .replaceAll('…', password)
  const asAdmin = (sql: string) => withConnection(ownerUrl, (admin) => admin.query(sql))
  const dataDir = mkdtempSync(join(tmpdir(), 'kp-roles-'))
  onTestFinished(async () => {
    rmSync(dataDir, { recursive: true, force: true })
    await asAdmin(`DROP DATABASE IF EXISTS ${own} WITH (FORCE)`)
    for (const role of ['owner', 'app']) await asAdmin(`DROP ROLE IF EXISTS ${own}_${role}`)
  })
  const [sql = ''] = blocksOf(section, 'sql')
  const statements = here(sql)
    .split(';')
    .filter((statement) => statement.trim() !== '')
  expect(statements).toHaveLength(3)
  for (const statement of statements) await asAdmin(statement)

  const [settings = ''] = blocksOf(section, 'sh')
  const { host, search } = new URL(ownerUrl)
  const given = Object.fromEntries(
    [...here(settings).matchAll(/(DATABASE_\w+)=(\S+)/g)].map(([, name, url = '']) => [
      name,
      url.replace('@db/kp', () => `@${host}/${own}${search}`),
    ]),
  )
  expect(Object.keys(given)).toEqual(['DATABASE_MIGRATION_URL', 'DATABASE_URL'])
  const { appUrl, applied, warning } = await openInstallation(readEnv({ ...given, KP_DATA_DIR: dataDir }))
  expect(applied.length).toBeGreaterThan(0)
  expect(warning).toBeUndefined()
  await withConnection(appUrl, async (app) => {
    const refused = await app.query('DELETE FROM audit_entries').then(() => 'allowed', errorCode)
    expect(refused).toBe('42501')
    await app.query('SELECT count(*) FROM audit_entries')
  })
})
