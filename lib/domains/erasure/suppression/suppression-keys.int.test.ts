import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { deriveKey, seal, sealedPurposes, unseal } from '#lib/config/secret.ts'
import { assertPresentSecret } from '#lib/domains/settings/service.ts'
import { systemClock } from '#lib/kernel/context.ts'
import { fileLedger, type Ledger } from '#lib/stores/ledger/ledger.ts'
import { type Database, openDatabase } from '#lib/stores/postgres/database.ts'
import { type TestDatabase, testDatabase } from '#lib/testing/database.ts'
import { createSuppressionKeys, type KeyLine } from './suppressions.ts'

const secret = 'a secret of thirty-two characters'
const opened: { database: TestDatabase; db: Database; ledger: Ledger; folder: string }[] = []
afterAll(async () => {
  for (const { database, db, ledger, folder } of opened) {
    await ledger.close()
    await db.close()
    await database.drop()
    rmSync(folder, { recursive: true, force: true })
  }
})

/** Creates a database and a ledger; each call of `keys()` simulates another process that uses them. */
async function place() {
  const database = await testDatabase()
  const db = openDatabase(database.appUrl, { isGuarded: true })
  const folder = mkdtempSync(join(tmpdir(), 'kp-keys-'))
  const ledger = fileLedger(folder, { secret: () => secret })
  opened.push({ database, db, ledger, folder })
  return {
    db,
    keys: (given = secret) =>
      createSuppressionKeys(db, { ledger, secret: () => given, assertPresentSecret, clock: systemClock }),
    async lines(): Promise<KeyLine[]> {
      const lines: KeyLine[] = []
      for await (const row of ledger.read()) if (row.kind === 'key') lines.push(row)
      return lines
    },
  }
}
const hex = (hashes: Uint8Array[]) => hashes.map((hash) => Buffer.from(hash).toString('hex'))

test('concurrent first uses create one suppression key, which is in the ledger', async () => {
  const { keys, db, lines } = await place()
  expect(await keys().every('email', 'nobody@example.org')).toEqual([])
  const made = await Promise.all(Array.from({ length: 8 }, () => keys().current('email', 'somebody@example.org')))
  expect(new Set(made.map(({ keyId }) => keyId)).size).toBe(1)
  expect(new Set(hex(made.map(({ hash }) => hash))).size).toBe(1)
  expect(await db.prisma.suppressionKey.count()).toBe(1)
  expect((await lines()).map(({ id }) => id)).toEqual([made[0]?.keyId])
})

test('a suppression hash depends on the kind and the value and has 32 bytes', async () => {
  const keys = (await place()).keys()
  const asAgent = await keys.current('agent', 'one')
  const asAccount = await keys.current('account', 'one')
  expect(asAgent.hash).toHaveLength(32)
  expect(hex([asAgent.hash])).not.toEqual(hex([asAccount.hash]))
  expect(hex([(await keys.current('agent', 'one')).hash])).toEqual(hex([asAgent.hash]))
})

test('after a rotation of the suppression key, new values are hashed with the new key and old hashes still match', async () => {
  const { keys, lines } = await place()
  const one = keys()
  const before = await one.current('account', 'usr_1')
  const id = await one.rotate(new Date())
  const after = await one.current('account', 'usr_1')
  expect(after.keyId).toBe(id)
  expect(hex([after.hash])).not.toEqual(hex([before.hash]))
  expect(hex(await one.every('account', 'usr_1'))).toEqual(hex([after.hash, before.hash]))
  expect(await lines()).toHaveLength(2)
  expect((await one.list()).map(({ retiredAt, isLost }) => [retiredAt === null, isLost])).toEqual([
    [true, false],
    [false, false],
  ])
})

test('current creates a suppression key within the given transaction, and a rollback discards the key', async () => {
  const { keys, db } = await place()
  const one = keys()
  const undone = await db
    .transaction(async (tx) => {
      const { keyId } = await one.current('email', 'a@example.org', tx)
      throw Object.assign(new Error('undone'), { keyId })
    })
    .catch((error: unknown) => error)
  const retained = await db.transaction((tx) => one.current('email', 'a@example.org', tx))
  expect(undone).not.toHaveProperty('keyId', retained.keyId)
  expect(hex(await one.every('email', 'a@example.org'))).toEqual(hex([retained.hash]))
  expect(await db.transaction((tx) => one.every('email', 'a@example.org', tx))).toHaveLength(1)
})

test('restore returns the keys of a restored database from the ledger, and earlier hashes match again', async () => {
  const { keys, db, lines } = await place()
  const one = keys()
  const { hash } = await one.current('agent', 'gone')
  await one.rotate(new Date())
  await db.prisma.suppressionKey.deleteMany()
  const restored = keys()
  expect(await restored.every('agent', 'gone')).toEqual([])
  expect(await restored.restore(await lines())).toBe(2)
  expect(hex(await restored.every('agent', 'gone'))).toContain(hex([hash])[0])
  expect(await restored.restore(await lines())).toBe(0)
  expect((await restored.current('agent', 'new')).keyId).not.toBe((await lines())[0]?.id)
})

test('a key sealed with another secret is listed as lost and replaced, and restore recovers it from the ledger', async () => {
  const { keys, db, lines } = await place()
  const { hash, keyId } = await keys('a former secret, of no use any more').current('agent', 'gone')
  const one = keys()
  expect(await one.every('agent', 'gone')).toEqual([])
  expect(await one.list()).toMatchObject([{ id: keyId, isLost: true }])
  const made = await one.current('agent', 'gone')
  expect(made.keyId).not.toBe(keyId)
  expect(await db.prisma.suppressionKey.count()).toBe(2)
  // Simulates a rotation of the installation's secret: the same key, sealed again.
  const [line] = await lines()
  if (!line) throw new Error('the ledger has no key')
  const former = deriveKey('a former secret, of no use any more', sealedPurposes.suppressionKeys)
  const key = unseal(former, Buffer.from(line.sealed, 'base64'), keyId)
  const again = seal(deriveKey(secret, sealedPurposes.suppressionKeys), key, keyId).toString('base64')
  for (const rows of [
    [line, { ...line, sealed: again }],
    [{ ...line, sealed: again }, line],
  ])
    await one.restore(rows)
  expect(hex(await one.every('agent', 'gone'))).toContain(hex([hash])[0])
  expect((await one.list()).every(({ isLost }) => !isLost)).toBe(true)
})
