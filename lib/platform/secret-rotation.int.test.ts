import { spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { readEnv } from '#lib/config/env.ts'
import {
  deriveKey,
  installationSecret,
  newSecret,
  seal,
  sealedPurposes,
  subjectPurpose,
  unsealed,
} from '#lib/config/secret.ts'
import { createSigner, verifyReceipt } from '#lib/domains/erasure/receipts/signing.ts'
import { createSuppressionKeys } from '#lib/domains/erasure/suppression/suppressions.ts'
import { sealContact } from '#lib/domains/privacy-requests/filing/links.ts'
import { openForm, sealForm } from '#lib/domains/privacy-requests/form/service.ts'
import { formHash, requestSubjectHash } from '#lib/domains/privacy-requests/requests.ts'
import { assertPresentSecret } from '#lib/domains/settings/service.ts'
import { systemClock } from '#lib/kernel/context.ts'
import { fileLedger } from '#lib/stores/ledger/ledger.ts'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { type Database, openDatabase } from '#lib/stores/postgres/database.ts'
import { startEmbedded } from '#lib/stores/postgres/embedded.ts'
import { testDatabase } from '#lib/testing/database.ts'
import { openInstallation } from './installation.ts'
import { sealedColumns } from './resealing.ts'
import { rotateInstallationSecret } from './secret-rotation.ts'
import { type SecretSettings, settleSecret } from './secret-settling.ts'

const root = mkdtempSync(join(tmpdir(), 'kp-rotation-'))
chmodSync(root, 0o755) // the server's account needs access
afterAll(() => rmSync(root, { recursive: true, force: true }))

const receipt = {
  receipt_id: 'rcpt_0123456789abcdefABCDEF',
  version: 1 as const,
  issuer: 'http://localhost:3000',
  deleted_id: 'kp:trace:1',
  deleted_at: '2026-01-01T00:00:00.000Z',
  reason: 'user_request',
  stores: [
    {
      store: 'postgresql' as const,
      holder: 'knowledge.units',
      what: 'units',
      found: 1,
      deleted: 1,
      residue: 0 as const,
      verified_at: '2026-01-01T00:00:01.000Z',
    },
  ],
  retained: [],
  physical: [],
  signed_at: '2026-01-01T00:00:01.000Z',
}
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

/** Uses every key of an installation like a process with this secret. */
function user(db: Database, dataDir: string, given?: string) {
  const secret = () => installationSecret(dataDir, given)
  const ledger = fileLedger(join(dataDir, 'erasures'), { secret })
  const signer = createSigner(db, { secret, assertPresentSecret })
  const suppression = createSuppressionKeys(db, { ledger, secret, assertPresentSecret, clock: systemClock })
  const contactKey = () => deriveKey(secret(), sealedPurposes.privacyContacts)
  const subjectKey = () => deriveKey(secret(), subjectPurpose)
  const formKey = () => deriveKey(secret(), sealedPurposes.privacyForms)
  return {
    signer,
    suppression,
    async kid() {
      const verified = await verifyReceipt(await signer.sign(receipt), await signer.keys())
      return 'kid' in verified ? verified.kid : verified.fault
    },
    hash: async () => hex((await suppression.current('email', 'somebody@example.org')).hash),
    async keepContact() {
      const contact = new Uint8Array(seal(contactKey(), Buffer.from('somebody@example.org'), 'req_1'))
      const at = new Date()
      await db.prisma.privacyRequest.create({
        data: {
          id: 'req_1',
          kinds: ['access'],
          channel: 'console',
          subjectKind: 'person',
          accountId: 'usr_1',
          subjectKey: requestSubjectHash(subjectKey(), 'account', 'usr_1'),
          receivedAt: at,
          legalDueAt: at,
          contact,
        },
      })
      await db.prisma.privacyRequest.create({
        data: {
          id: 'req_2',
          kinds: ['access'],
          channel: 'console',
          subjectKind: 'participant',
          participantId: 'prt_1',
          subjectKey: requestSubjectHash(subjectKey(), 'participant', 'prt_1'),
          receivedAt: at,
          legalDueAt: at,
        },
      })
    },
    async keepForm() {
      const at = new Date()
      const content = { email: 'stranger@example.org', locale: 'en' as const, kind: 'access' as const }
      const addressKey = formHash(subjectKey(), 'address', content.email)
      await db.prisma.privacyRequest.create({
        data: {
          id: 'req_3',
          kinds: ['access'],
          channel: 'form',
          subjectKind: 'requester',
          addressKey,
          subjectKey: requestSubjectHash(subjectKey(), 'requester', addressKey),
          receivedAt: at,
          legalDueAt: at,
          contact: sealContact(contactKey(), 'req_3', content),
        },
      })
      await db.prisma.unconfirmedRequest.create({
        data: {
          id: 'pform_1',
          addressKey,
          networkKey: 'n',
          createdAt: at,
          expiresAt: at,
          content: sealForm(formKey(), 'pform_1', content),
        },
      })
    },
    async form() {
      const request = await db.prisma.privacyRequest.findUniqueOrThrow({ where: { id: 'req_3' } })
      const form = await db.prisma.unconfirmedRequest.findUniqueOrThrow({ where: { id: 'pform_1' } })
      const addressKey = formHash(subjectKey(), 'address', 'stranger@example.org')
      return {
        isFound:
          request.addressKey === addressKey &&
          form.addressKey === addressKey &&
          request.subjectKey === requestSubjectHash(subjectKey(), 'requester', addressKey),
        email: form.content && openForm(formKey(), 'pform_1', form.content).email,
      }
    },
    async contact() {
      const row = await db.prisma.privacyRequest.findUniqueOrThrow({ where: { id: 'req_1' } })
      const keys = [
        requestSubjectHash(subjectKey(), 'account', 'usr_1'),
        requestSubjectHash(subjectKey(), 'participant', 'prt_1'),
      ]
      const isFound = (await db.prisma.privacyRequest.count({ where: { subjectKey: { in: keys } } })) === keys.length
      return { isFound, email: row.contact && unsealed(contactKey(), row.contact, 'req_1')?.toString() }
    },
    linesOfLedger: async () => {
      const lines = []
      for await (const row of ledger.read()) if (row.kind === 'key') lines.push(row)
      return lines
    },
  }
}

async function used<T>(
  url: string,
  dataDir: string,
  work: (one: ReturnType<typeof user>) => Promise<T>,
  given?: string,
) {
  const db = openDatabase(url)
  try {
    return await work(user(db, dataDir, given))
  } finally {
    await db.close()
  }
}

describe('the secret in a file', () => {
  const dataDir = join(root, 'var')
  const env = { NODE_ENV: 'test' as const, PATH: process.env.PATH, KP_DATA_DIR: dataDir }
  const settings = readEnv(env)
  const file = () => readFileSync(join(dataDir, 'secret'), 'utf8')
  const started = async <T>(work: (one: ReturnType<typeof user>) => Promise<T>): Promise<T> => {
    const { appUrl, embedded } = await openInstallation(settings)
    try {
      return await used(appUrl, dataDir, work)
    } finally {
      await embedded?.stop()
    }
  }
  const state = async (one: ReturnType<typeof user>) => ({
    kid: await one.kid(),
    hash: await one.hash(),
    contact: await one.contact(),
    form: await one.form(),
  })
  const killedAt = (point: string) =>
    new Promise<string | null>((done, failed) => {
      const program = join(import.meta.dirname, '../testing/rotation-process.ts')
      const child = spawn(process.execPath, [program, point], { env, stdio: ['ignore', 'ignore', 'inherit'] })
      child.once('error', failed).once('close', (_, signal) => done(signal))
    })

  test('rotation keeps every key usable after a kill at any point, and the next rotation finishes', async () => {
    const before = await started(async (one) => {
      await one.keepContact()
      await one.keepForm()
      return state(one)
    })
    expect(before.contact).toEqual({ isFound: true, email: 'somebody@example.org' })
    expect(before.form).toEqual({ isFound: true, email: 'stranger@example.org' })
    for (const [point, isReplaced] of [
      ['begun', false],
      ['next', false],
      ['sealed', false],
      ['committed', true],
      ['adopted', true],
    ] as const) {
      const secret = file()
      expect(await killedAt(point), point).toBe('SIGKILL')
      expect(await started(state), point).toEqual(before)
      expect(file() !== secret, point).toBe(isReplaced)
    }
    // A later rotation finds no leftovers: it creates a new secret.
    expect(existsSync(join(dataDir, 'secret.next'))).toBe(false)
    const secret = file()
    expect(await killedAt('nowhere')).toBe(null)
    expect(file()).not.toBe(secret)
    expect(statSync(join(dataDir, 'secret')).mode & 0o777).toBe(0o600)
    expect(await started(state)).toEqual(before)
    // The ledger can restore the key, sealed with the present secret, to a database that lost it.
    const hashes = await started(async ({ suppression, linesOfLedger }) => {
      const db = await suppression.list()
      expect(db).toHaveLength(1)
      return (await linesOfLedger()).filter(({ id, sealed }) =>
        unsealed(deriveKey(file(), sealedPurposes.suppressionKeys), Buffer.from(sealed, 'base64'), id),
      )
    })
    expect(hashes).toHaveLength(1)
  })

  test('rotation is rejected while the installation runs and when there is none', async () => {
    const secret = file()
    const { embedded } = await openInstallation(settings)
    try {
      await expect(rotateInstallationSecret(settings)).rejects.toMatchObject({ code: 'IN_USE' })
    } finally {
      await embedded?.stop()
    }
    expect(file()).toBe(secret)
    const nowhere = { ...settings, KP_DATA_DIR: join(root, 'nothing') }
    await expect(rotateInstallationSecret(nowhere)).rejects.toMatchObject({ code: 'NOT_PREPARED' })
    expect(existsSync(nowhere.KP_DATA_DIR)).toBe(false)
  })

  test('rotation is rejected when another folder is in place of the ledger’s folder', async () => {
    const secret = file()
    const reported = async (sql: string) => {
      const embedded = await startEmbedded(settings.KP_DATA_DIR)
      try {
        await withConnection(embedded.ownerUrl('kp'), (client) => client.query(sql))
      } finally {
        await embedded.stop()
      }
    }
    await reported(`INSERT INTO known_stores (id, port, provider, address, shown, first_seen, last_seen)
      VALUES ('store_x', 'ledger', 'files', 'of another mark', 'file:/elsewhere', now(), now())`)
    await expect(rotateInstallationSecret(settings)).rejects.toMatchObject({ code: 'LEDGER_AWAY' })
    expect(file()).toBe(secret)
    await expect(openInstallation(settings)).rejects.toMatchObject({ code: 'LEDGER_AWAY' })
    await reported('DELETE FROM known_stores')
    await rotateInstallationSecret(settings)
    expect(file()).not.toBe(secret)
  })

  test('a start rejects the former secret when its file was restored', async () => {
    const former = file()
    await rotateInstallationSecret(settings)
    const present = file()
    writeFileSync(join(dataDir, 'secret'), former)
    await expect(openInstallation(settings)).rejects.toMatchObject({ code: 'SECRET_REPLACED' })
    writeFileSync(join(dataDir, 'secret'), present)
    expect(await started(({ contact }) => contact())).toMatchObject({ isFound: true })
  })
})

describe('the secret in KP_SECRET', () => {
  async function place() {
    const database = await testDatabase()
    const settings = (more: Partial<SecretSettings>): SecretSettings => ({
      KP_DATA_DIR: mkdtempSync(join(root, 'given-')),
      KP_SECRET: undefined,
      KP_SECRET_PREVIOUS: undefined,
      KP_LEDGER_URL: undefined,
      ...more,
    })
    const dataDir = mkdtempSync(join(root, 'given-'))
    return {
      database,
      start: (secret: string, previous?: string, isSecretLost = false) =>
        withConnection(database.ownerUrl, (owner) =>
          settleSecret(
            owner,
            settings({
              KP_DATA_DIR: dataDir,
              KP_SECRET: secret,
              isSecretLost,
              ...(previous && { KP_SECRET_PREVIOUS: previous }),
            }),
          ),
        ),
      use: <T>(secret: string, work: (one: ReturnType<typeof user>) => Promise<T>) =>
        used(database.appUrl, dataDir, work, secret),
    }
  }

  test('a start re-encrypts data that KP_SECRET_PREVIOUS decrypts, also when many starts are concurrent', async () => {
    const { database, start, use } = await place()
    const [first, second] = [newSecret(), newSecret()]
    expect(await start(first)).toEqual({ secret: first })
    const before = await use(first, async (one) => ({ kid: await one.kid(), hash: await one.hash() }))
    const starts = await Promise.all(Array.from({ length: 4 }, () => start(second, first)))
    expect(starts).toEqual(Array.from({ length: 4 }, () => ({ secret: second })))
    const after = await use(second, async (one) => ({ kid: await one.kid(), hash: await one.hash() }))
    expect(after).toEqual(before)
    expect(await start(second)).toEqual({ secret: second })
    await expect(start(first)).rejects.toMatchObject({ code: 'SECRET_REPLACED' })
    // Reverting to the first secret on purpose.
    expect(await start(first, second)).toEqual({ secret: first })
    expect(await use(first, (one) => one.kid())).toBe(before.kid)
    await database.drop()
  })

  test('a process with the former secret is prevented from creating keys that the others could not open', async () => {
    const { database, start, use } = await place()
    const [first, second] = [newSecret(), newSecret()]
    await start(first)
    const kid = await use(first, (one) => one.kid())
    await use(first, (one) => one.hash())
    await start(second, first)
    await use(first, async (one) => {
      await expect(one.kid()).rejects.toMatchObject({ code: 'unavailable' })
      await expect(one.hash()).rejects.toMatchObject({ code: 'unavailable' })
      await expect(one.signer.rotate(new Date())).rejects.toMatchObject({ code: 'unavailable' })
      await expect(one.suppression.rotate(new Date())).rejects.toMatchObject({ code: 'unavailable' })
    })
    expect(await use(second, (one) => one.kid())).toBe(kid)
    await database.drop()
  })

  test('a start rejects another secret unless an operator declares the former one lost, and the former secret later repairs the installation', async () => {
    const { database, start, use } = await place()
    const [lost, second] = [newSecret(), newSecret()]
    await start(lost)
    const before = await use(lost, async (one) => ({ kid: await one.kid(), hash: await one.hash() }))
    await expect(start(second)).rejects.toMatchObject({ code: 'SECRET_FOREIGN' })
    await expect(start(second, newSecret())).rejects.toMatchObject({ code: 'SECRET_FOREIGN' })
    expect(await start(lost)).toEqual({ secret: lost })
    const { warning } = await start(second, undefined, true)
    expect(warning).toMatch(/1 signing keys, 1 suppression keys.*KP_SECRET_PREVIOUS/)
    expect(await use(second, (one) => one.kid())).not.toBe(before.kid)
    expect(await start(second, lost)).toEqual({ secret: second })
    const hashes = await use(second, (one) => one.suppression.every('email', 'somebody@example.org'))
    expect(hashes.map(hex)).toContain(before.hash)
    await database.drop()
  })
})

test('rotation covers every bytea column except known hashes', async () => {
  const hashes = new Set([
    'tokens.hash',
    'account_links.code_hash',
    'account_factors.credential_id',
    'account_factors.public_key',
    'account_recovery_codes.code_hash',
    'invites.code_hash',
    'known_sign_ins.mark',
    'unit_reports.network',
    'unit_votes.network',
    'agents.network',
    'registration_networks.network',
    'idempotency_records.request_hash',
    'suppressions.hash',
    'privacy_links.hash',
    // SHA-256 of a random token, deleted within a day.
    'unconfirmed_requests.hash',
    'attachments.sha256',
    'documents.sha256',
    'clade_shares.digest',
    'snapshots.digest',
    'state_bundles.digest',
    // SHA-256 of a random token, deleted with its link.
    'snapshot_links.token_hash',
    // Keyed fingerprints with a separate key.
    'erased_words.fingerprints',
    // A public key, which is not secret.
    'keyrings.public_key',
  ])
  const database = await testDatabase()
  const columns = await withConnection(database.ownerUrl, async (owner) => {
    const { rows } = await owner.query<{ name: string }>(
      `SELECT c.relname || '.' || a.attname AS name FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
       WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
         AND a.atttypid = 'bytea'::regtype AND a.attnum > 0 AND NOT a.attisdropped ORDER BY 1`,
    )
    return rows.map(({ name }) => name)
  })
  await database.drop()
  const sealed = sealedColumns.map(({ table, column }) => `${table}.${column}`)
  expect(columns).toEqual(expect.arrayContaining(sealed))
  expect(columns.filter((name) => !sealed.includes(name) && !hashes.has(name))).toEqual([])
})
