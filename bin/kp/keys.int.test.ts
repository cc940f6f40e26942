import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readEnv } from '#lib/config/env.ts'
import { createAccount } from '#lib/domains/accounts/service.ts'
import { createOrganisation } from '#lib/domains/accounts/writes.ts'
import { openInstallation } from '#lib/platform/installation.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { commandLine } from '#lib/testing/command-line.ts'

let app: TestApp
let line: ReturnType<typeof commandLine>
const root = mkdtempSync(join(tmpdir(), 'kp-keys-line-'))
chmodSync(root, 0o755) // the database server's account must be able to enter

beforeAll(async () => {
  app = await testApp()
  line = commandLine(app.url)
  await app.db.transaction(async (tx) => {
    const now = new Date()
    await createAccount(tx, {
      organisationId: await createOrganisation(tx, 'First', now),
      email: 'root@example.org',
      name: 'Root',
      now,
      role: 'admin',
      password: 'correct horse battery',
      mustChangePassword: false,
    })
  })
})
afterAll(async () => {
  line.close()
  await app.close()
  rmSync(root, { recursive: true, force: true })
})

const own = () => ({
  env: {
    DATABASE_URL: app.app.env.DATABASE_URL ?? '',
    KP_DATA_DIR: app.dataDir,
    KP_SECRET: app.app.env.KP_SECRET ?? '',
  },
})
const kp = (...args: string[]) => line.run(args, own())

test('keys rotate replaces signing and suppression keys and writes audit entries; admin rotate-signing-key does the same', async () => {
  expect((await kp('keys', 'list', '--json')).json.data.keys).toEqual([])
  const { hash } = await app.app.suppressionKeys.current('agent', 'gone')
  const first = (await app.app.signer.keys()).map(({ kid }) => kid)
  const signing = await kp('keys', 'rotate', 'signing', '--json')
  const suppression = await kp('keys', 'rotate', 'suppression', '--json')
  const older = await kp('admin', 'rotate-signing-key', '--json')
  expect([signing, suppression, older].map(({ status }) => status)).toEqual([0, 0, 0])
  const listed = await kp('keys', 'list', '--json')
  const keys = listed.json.data.keys as { kind: string; id: string; retired_at: string | null; lost: boolean }[]
  const inUse = keys.filter(({ retired_at }) => retired_at === null)
  expect(inUse.map(({ kind, id }) => [kind, id])).toEqual([
    ['signing', older.json.data.kid],
    ['suppression', suppression.json.data.id],
  ])
  expect(keys.filter(({ kind }) => kind === 'signing').map(({ id }) => id)).toEqual([
    older.json.data.kid,
    signing.json.data.kid,
    ...first,
  ])
  expect(keys.some(({ lost }) => lost)).toBe(false)
  expect(listed.out).not.toContain('sealed')
  const audited = await app.db.prisma.auditEntry.findMany({ where: { agentId: { startsWith: 'system:admin.rotate' } } })
  expect(audited.map(({ agentId }) => agentId).sort()).toEqual([
    'system:admin.rotate-signing-key',
    'system:admin.rotate-signing-key',
    'system:admin.rotate-suppression-key',
  ])
  expect(await app.app.suppressionKeys.every('agent', 'gone')).toContainEqual(hash)
})

test('keys rotate installation prints instructions and changes nothing when KP_SECRET is set', async () => {
  const { status, out, err } = await kp('keys', 'rotate', 'installation')
  expect(status).toBe(0)
  expect(out).toMatch(/^[\w-]{43}\n$/)
  expect(err).toContain('KP_SECRET_PREVIOUS')
  expect((await kp('keys', 'list', '--json')).json.data.keys.every(({ lost }: { lost: boolean }) => !lost)).toBe(true)
})

test('keys rotate installation replaces the secret of a stopped installation, and rejects a running one', async () => {
  const dataDir = join(root, 'var')
  const env = { KP_DATA_DIR: dataDir }
  const rotate = () => line.run(['keys', 'rotate', 'installation', '--json'], { env })
  expect((await rotate()).status).toBe(1)
  const installation = await openInstallation(readEnv({ NODE_ENV: 'test', KP_DATA_DIR: dataDir }))
  const secret = readFileSync(join(dataDir, 'secret'), 'utf8')
  const refused = await rotate()
  expect(refused.status).toBe(1)
  expect(refused.err).toContain('is running')
  expect(readFileSync(join(dataDir, 'secret'), 'utf8')).toBe(secret)
  const made = await line.run(['keys', 'rotate', 'signing', '--json'], { env })
  expect(made.status, made.err).toBe(0)
  await installation.embedded?.stop()
  const replaced = await rotate()
  expect(replaced.json?.data, replaced.err).toEqual({ rotated: true, sealed: 1, lost: {} })
  expect(readFileSync(join(dataDir, 'secret'), 'utf8')).not.toBe(secret)
  const listed = await line.run(['keys', 'list', '--json'], { env })
  expect(listed.json.data).toMatchObject({
    keys: [{ kind: 'signing', id: made.json.data.kid, lost: false }],
    installation: { kept_in: join(dataDir, 'secret') },
  })
  expect(listed.out + replaced.out).not.toContain(readFileSync(join(dataDir, 'secret'), 'utf8'))
})

test('admin account adds and lists accounts and changes roles, and rejects the removal of the last admin', async () => {
  const added = await kp('admin', 'account', 'add', 'New@example.org', '--role', 'auditor', '--json')
  expect(added.json?.data, added.err).toMatchObject({ role: 'auditor', password: expect.stringMatching(/^\S{23}$/) })
  const [again, ...refused] = await Promise.all([
    kp('admin', 'account', 'add', 'new@EXAMPLE.org'),
    kp('admin', 'account', 'add', 'no address'),
    kp('admin', 'account', 'add', 'a@example.org', '--role', 'root'),
    kp('admin', 'account', 'add', 'a@example.org', '--organisation', 'org_none'),
    kp('admin', 'account', 'role', 'nobody@example.org', 'admin'),
  ])
  expect([again.status, again.err.includes('already exists')]).toEqual([1, true])
  expect(refused.map(({ status }) => status)).toEqual([2, 2, 1, 1])

  const last = await kp('admin', 'account', 'role', 'root@example.org', 'person')
  expect([last.status, last.err.includes('kp admin account role <email> admin')]).toEqual([1, true])
  expect((await kp('admin', 'account', 'role', 'NEW@example.org', 'admin')).status).toBe(0)
  expect((await kp('admin', 'account', 'role', 'root@example.org', 'person')).status).toBe(0)
  const listed = (await kp('admin', 'account', 'list', '--json')).json
  expect(listed).toMatchObject({
    total: 2,
    data: [
      { email: 'root@example.org', role: 'person' },
      { email: 'new@example.org', role: 'admin', name: 'New', account_id: added.json.data.account_id },
    ],
  })
  const audited = await app.db.prisma.auditEntry.findMany({ where: { agentId: 'system:admin.account' } })
  expect(audited.map(({ action }) => action).sort()).toEqual(['create', 'update', 'update'])
  expect(JSON.stringify(audited)).not.toContain('@')
})

test('admin lift-second-factors and lift-approvals end both requirements, write audit entries and can be repeated', async () => {
  const now = new Date()
  const policy = { required_of: 'everybody', from: now.toISOString() }
  for (const [name, value] of [
    ['second_factors', policy],
    ['two_person_approval', true],
  ] as const)
    await app.db.prisma.setting.create({ data: { name, value, updatedBy: 'system:test', updatedAt: now } })
  const factors = await kp('admin', 'lift-second-factors', '--json')
  expect([factors.status, factors.json?.data], factors.err).toEqual([0, { required_of: 'nobody', before: 'everybody' }])
  expect(await app.app.accounts.recentFactorPolicy()).toMatchObject({ required_of: 'nobody' })
  const approvals = await kp('admin', 'lift-approvals', '--json')
  expect([approvals.status, approvals.json?.data], approvals.err).toEqual([0, { is_on: false, before: true }])
  expect(await app.db.prisma.setting.findMany({ orderBy: { name: 'asc' } })).toMatchObject([
    { name: 'second_factors', value: { required_of: 'nobody', from: null } },
    { name: 'two_person_approval', value: false },
  ])
  expect((await kp('admin', 'lift-second-factors')).out).toContain('(before: nobody)')
  expect((await kp('admin', 'lift-approvals')).out).toContain('(before: off)')
  const audited = await app.db.prisma.auditEntry.findMany({
    where: { resourceType: 'settings', agentId: 'system:admin.account' },
    orderBy: { at: 'asc' },
  })
  expect(audited.map(({ resourceId }) => resourceId)).toEqual([
    'second_factors',
    'two_person_approval',
    'second_factors',
    'two_person_approval',
  ])
})
