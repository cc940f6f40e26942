import { createHmac, randomBytes } from 'node:crypto'
import { deriveKey, seal, sealedPurposes, unsealed } from '#lib/config/secret.ts'
import type { Clock, Transaction } from '#lib/kernel/context.ts'
import { logNotice } from '#lib/kernel/fault-log.ts'
import { newId } from '#lib/kernel/ids.ts'
import type { Ledger, LedgerHash, LedgerRow } from '#lib/stores/ledger/ledger.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import type { SecretPorts } from '../receipts/signing.ts'
import {
  insertSuppressions,
  lockSuppressionKeys,
  suppressedHashes,
  suppressionKeyRows,
  suppressionsOfRun,
  suppressionsWithoutOrganisation,
} from './repository.ts'

/** The value of a participant is its {@link participantKey}, that of an agent in its organization {@link memberKey}. */
type SuppressedKind = 'email' | 'account' | 'agent' | 'member' | 'participant'
/** Unambiguous, because the id of an organization contains no slash. */
export const memberKey = (organisationId: string, agentId: string): string => `${organisationId}/${agentId}`
interface SuppressionHashes {
  /**
   * Hashes a value with the current key, which is created on first use. An email address must be normalised. Pass the
   * transaction, if any, to avoid a second connection.
   * @throws Problem `unavailable` when the ledger cannot store a new key
   */
  current(
    kind: SuppressedKind,
    value: string,
    tx?: Transaction,
  ): Promise<{ hash: Uint8Array<ArrayBuffer>; keyId: string }>
  /**
   * Hashes a value with every key, including retired ones: a value is suppressed if any hash matches. Empty while no
   * key exists.
   */
  every(kind: SuppressedKind, value: string, tx?: Transaction): Promise<Uint8Array<ArrayBuffer>[]>
}
export interface KeyState {
  id: string
  createdAt: Date
  retiredAt: Date | null
  /** Sealed with a secret that this installation does not have. */
  isLost: boolean
}
export interface SuppressionKeys extends SuppressionHashes {
  /** Creates a new key for new hashes and returns its id; old keys still match. */
  rotate(now: Date): Promise<string>
  /** Newest first. */
  list(): Promise<KeyState[]>
  /**
   * Restores keys from the ledger that a restored database lacks, or that it has sealed with a former secret. Returns
   * the number of restored keys.
   */
  restore(rows: Iterable<KeyLine>): Promise<number>
}
export type KeyLine = Extract<LedgerRow, { kind: 'key' }>

type KeyRow = Awaited<ReturnType<typeof suppressionKeyRows>>[number]
interface Opened {
  id: string
  key: Buffer
  isRetired: boolean
}

const hashWith = (key: Uint8Array, kind: SuppressedKind, value: string): Uint8Array<ArrayBuffer> =>
  new Uint8Array(createHmac('sha256', key).update(`${kind}\0${value}`).digest())

/** See {@link SuppressionKeys.restore}. `openedWith`: opens a key with the present secret. */
async function restoreKeys(
  db: Database,
  rows: Iterable<KeyLine>,
  openedWith: (sealed: Uint8Array, id: string) => Buffer | undefined,
): Promise<number> {
  // The ledger has one line per key and secret. Prefers a line that this secret opens, otherwise the last one.
  const lines = new Map<string, KeyLine & { opens: boolean }>()
  for (const row of rows) {
    const opens = openedWith(Buffer.from(row.sealed, 'base64'), row.id) !== undefined
    if (opens || !lines.get(row.id)?.opens) lines.set(row.id, { ...row, opens })
  }
  return db.transaction(async (tx) => {
    await lockSuppressionKeys(tx, {})
    const stored = new Map((await suppressionKeyRows(tx, {})).map((row) => [row.id, row]))
    let count = 0
    for (const { id, at, sealed, opens } of lines.values()) {
      const row = stored.get(id)
      if (row && (!opens || openedWith(row.sealed_key, id))) continue
      const sealedKey = new Uint8Array(Buffer.from(sealed, 'base64'))
      const createdAt = new Date(at)
      await tx.suppressionKey.upsert({
        where: { id },
        create: { id, sealedKey, createdAt, retiredAt: createdAt },
        update: { sealedKey },
      })
      count++
    }
    return count
  })
}

/**
 * The keys that hash erased subjects for the suppression list: HMAC-SHA256 over kind, NUL, value.
 * A key is sealed with the installation's secret and stored in the ledger before its first use, and in the database.
 * With only a database backup, earlier erased subjects could not be recognised.
 */
export function createSuppressionKeys(
  db: Database,
  { ledger, secret, assertPresentSecret, clock }: SecretPorts & { ledger: Pick<Ledger, 'append'>; clock: Clock },
): SuppressionKeys {
  const reported = new Set<string>()

  const sealing = () => deriveKey(secret(), sealedPurposes.suppressionKeys)
  const openedWith = (sealed: Uint8Array, id: string) => unsealed(sealing(), sealed, id)

  function opened(rows: readonly KeyRow[]): Opened[] {
    return rows.flatMap((row) => {
      const key = openedWith(row.sealed_key, row.id)
      if (key) return [{ id: row.id, key, isRetired: row.retired_at !== null }]
      if (!reported.has(row.id))
        logNotice(
          `the suppression key ${row.id} was sealed with another KP_SECRET: subjects that were hashed with it are not recognised`,
        )
      reported.add(row.id)
      return []
    })
  }

  /** Reads the keys on every call: another process may have just created a key and erased somebody under it. */
  const loaded = async (tx?: Transaction): Promise<Opened[]> => opened(await suppressionKeyRows(tx ?? db, {}))

  /** Creates a key, which is in the ledger before it is in the database. */
  async function make(tx: Transaction, now: Date): Promise<Opened> {
    await assertPresentSecret(tx, secret())
    const id = newId('supk')
    const key = randomBytes(32)
    const sealed = seal(sealing(), key, id)
    await ledger.append({ kind: 'key', id, at: now.toISOString(), sealed: sealed.toString('base64') })
    await tx.suppressionKey.updateMany({ where: { retiredAt: null }, data: { retiredAt: now } })
    await tx.suppressionKey.create({ data: { id, sealedKey: new Uint8Array(sealed), createdAt: now } })
    return { id, key, isRetired: false }
  }

  /** When two processes need the first key concurrently, one creates it and the other finds it. */
  async function first(tx: Transaction): Promise<Opened> {
    await lockSuppressionKeys(tx, {})
    const rows = await suppressionKeyRows(tx, {})
    return opened(rows).find(({ isRetired }) => !isRetired) ?? make(tx, clock.now())
  }

  async function newest(tx?: Transaction): Promise<Opened> {
    const found = (await loaded(tx)).find(({ isRetired }) => !isRetired)
    if (found) return found
    return tx ? first(tx) : db.transaction(first)
  }

  return {
    async current(kind, value, tx) {
      const { id, key } = await newest(tx)
      return { hash: hashWith(key, kind, value), keyId: id }
    },
    async every(kind, value, tx) {
      return (await loaded(tx)).map(({ key }) => hashWith(key, kind, value))
    },
    async rotate(now) {
      const { id } = await db.transaction(async (tx) => {
        await lockSuppressionKeys(tx, {})
        return make(tx, now)
      })
      return id
    },
    async list() {
      const rows = await suppressionKeyRows(db, {})
      return rows.map((row) => ({
        id: row.id,
        createdAt: row.created_at,
        retiredAt: row.retired_at,
        isLost: openedWith(row.sealed_key, row.id) === undefined,
      }))
    },
    restore: (rows) => restoreKeys(db, rows, openedWith),
  }
}

/**
 * The suppression list. Erased subjects are stored only as keyed hashes; imports of their content and registrations of
 * their ids are rejected.
 */
export function suppressions(hashes: SuppressionHashes) {
  const store = (tx: Transaction, rows: readonly LedgerHash[], { runId, since }: { runId: string; since: Date }) =>
    insertSuppressions(tx, { hashes: rows, since, runId })

  /** Returns those of the values that were erased. Uses only the connection of the transaction. */
  async function among(tx: Transaction, kind: SuppressedKind, values: readonly string[]): Promise<string[]> {
    const known = new Map<string, string>()
    for (const value of new Set(values))
      for (const hash of await hashes.every(kind, value, tx)) known.set(Buffer.from(hash).toString('hex'), value)
    if (known.size === 0) return []
    const records = await suppressedHashes(tx, { kind, hashes: [...known.keys()] })
    return [...new Set(records.flatMap(({ hash }) => known.get(hash) ?? []))].sort()
  }

  return {
    store,
    /** Adds the values of a run to the list. They must be normalised. */
    async add(
      tx: Transaction,
      values: readonly { kind: SuppressedKind; value: string }[],
      run: { runId: string; since: Date },
    ): Promise<void> {
      const rows: LedgerHash[] = []
      for (const { kind, value } of values) {
        const { hash, keyId } = await hashes.current(kind, value, tx)
        rows.push({ kind, hash: Buffer.from(hash).toString('hex'), keyId })
      }
      await store(tx, rows, run)
    },
    /** Removes the values of a run that erases nobody after all. */
    async forget(tx: Transaction, runId: string): Promise<void> {
      await tx.suppression.deleteMany({ where: { runId } })
    },
    /** Returns the values of a run in the form that the ledger stores. */
    ofRun: (tx: Transaction, runId: string): Promise<LedgerHash[]> => suppressionsOfRun(tx, { runId }),
    among,
    /** Returns those of the values that the hashes of one erasure contain. Uses only the connection of the transaction. */
    async matching(
      tx: Transaction,
      of: readonly LedgerHash[],
      kind: SuppressedKind,
      values: readonly string[],
    ): Promise<string[]> {
      const known = new Set(of.flatMap((one) => (one.kind === kind ? [one.hash] : [])))
      if (known.size === 0) return []
      const matches: string[] = []
      for (const value of values)
        if ((await hashes.every(kind, value, tx)).some((hash) => known.has(Buffer.from(hash).toString('hex'))))
          matches.push(value)
      return matches
    },
    /**
     * Returns those of the agents that were erased while they belonged to the organization. The list does not say this about agents that
     * earlier versions erased: these count for every organization. Uses only the connection of the transaction.
     */
    async amongMembers(tx: Transaction, organisationId: string, agents: readonly string[]): Promise<string[]> {
      const erased = await among(tx, 'agent', agents)
      if (erased.length === 0) return []
      const members = new Map(erased.map((agent) => [memberKey(organisationId, agent), agent]))
      const own = await among(tx, 'member', [...members.keys()])
      const unplaced: string[] = []
      for (const agent of erased) {
        const every = await hashes.every('agent', agent, tx)
        const found = await suppressionsWithoutOrganisation(tx, { hashes: every })
        if (found.length > 0) unplaced.push(agent)
      }
      return [...new Set([...own.flatMap((key) => members.get(key) ?? []), ...unplaced])].sort()
    },
    /** Removes a value after a new, verified consent. */
    async lift(tx: Transaction, kind: SuppressedKind, value: string): Promise<void> {
      const every = await hashes.every(kind, value, tx)
      await tx.suppression.deleteMany({ where: { kind, hash: { in: every } } })
    },
  }
}
export type Suppressions = ReturnType<typeof suppressions>
