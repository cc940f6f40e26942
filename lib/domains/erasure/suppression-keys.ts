import { createHmac, randomBytes } from 'node:crypto'
import type { Clock } from '#lib/kernel/clock.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { logNotice } from '#lib/kernel/fault-log.ts'
import { newId } from '#lib/kernel/ids.ts'
import { deriveKey, seal, sealedPurposes, unsealed } from '#lib/secret.ts'
import type { Ledger, LedgerRow } from '#lib/stores/ledger/ledger.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { assertPresentSecret } from '#lib/stores/postgres/secret-record.ts'

/** The value of a participant is {@link participantKey}. */
export type SuppressedKind = 'email' | 'account' | 'agent' | 'participant'
export interface SuppressionHashes {
  /**
   * The hash of a value with the key of today, which is made at the first need. An e-mail address comes normalised. Inside a
   * transaction, hand it in: no second connection is needed then. Throws `unavailable` when the ledger cannot keep a new key.
   */
  current(
    kind: SuppressedKind,
    value: string,
    tx?: Transaction,
  ): Promise<{ hash: Uint8Array<ArrayBuffer>; keyId: string }>
  /** The hashes of a value with every key that there ever was: a match with any of them is one. Empty while there is no key. */
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
  /** A new key hashes from now on; the old ones go on matching. */
  rotate(now: Date): Promise<string>
  /** Newest first. */
  list(): Promise<KeyState[]>
  /** Takes back what the ledger has and a restored database lost, or has under a former secret; returns how many keys that were. */
  restore(rows: Iterable<KeyLine>): Promise<number>
}
export type KeyLine = Extract<LedgerRow, { kind: 'key' }>

interface KeyRow {
  id: string
  sealed_key: Uint8Array
  created_at: Date
  retired_at: Date | null
}
interface Opened {
  id: string
  key: Buffer
  isRetired: boolean
}

const allKeys = 'SELECT id, sealed_key, created_at, retired_at FROM suppression_keys ORDER BY created_at DESC, id DESC'

const hashWith = (key: Uint8Array, kind: SuppressedKind, value: string): Uint8Array<ArrayBuffer> =>
  new Uint8Array(createHmac('sha256', key).update(`${kind}\0${value}`).digest())

/**
 * The keys under which erased subjects are remembered: HMAC-SHA256 over kind, NUL, value. A key is kept sealed with the installation's
 * secret, in the database and, before its first use, in the ledger: without it a restored database would not know whom it forgot.
 */
export function createSuppressionKeys(
  db: Database,
  { ledger, secret, clock }: { ledger: Pick<Ledger, 'append'>; secret: () => string; clock: Clock },
): SuppressionKeys {
  const told = new Set<string>()

  const sealing = () => deriveKey(secret(), sealedPurposes.suppressionKeys)
  const openedWith = (sealed: Uint8Array, id: string) => unsealed(sealing(), sealed, id)

  function opened(rows: readonly KeyRow[]): Opened[] {
    return rows.flatMap((row) => {
      const key = openedWith(row.sealed_key, row.id)
      if (key) return [{ id: row.id, key, isRetired: row.retired_at !== null }]
      if (!told.has(row.id))
        logNotice(`the suppression key ${row.id} was sealed with another KP_SECRET: whom it hashed is not recognised`)
      told.add(row.id)
      return []
    })
  }

  /** Asked each time: under a key that another process made a moment ago somebody may have been erased already. */
  const loaded = async (tx?: Transaction): Promise<Opened[]> =>
    opened(tx ? await tx.$queryRawUnsafe<KeyRow[]>(allKeys) : await db.query<KeyRow>('suppression-keys', allKeys))

  const locked = (tx: Transaction) =>
    tx.$queryRaw`SELECT 1 AS locked FROM (SELECT pg_advisory_xact_lock(hashtext('suppression-keys'))) AS l`

  /** A new key, in the ledger before it is in the database. */
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

  /** Of two processes that need the first key at once, one makes it and the other finds it. */
  async function first(tx: Transaction): Promise<Opened> {
    await locked(tx)
    const rows = await tx.$queryRawUnsafe<KeyRow[]>(allKeys)
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
        await locked(tx)
        return make(tx, now)
      })
      return id
    },
    async list() {
      const rows = await db.query<KeyRow>('suppression-keys', allKeys)
      return rows.map((row) => ({
        id: row.id,
        createdAt: row.created_at,
        retiredAt: row.retired_at,
        isLost: openedWith(row.sealed_key, row.id) === undefined,
      }))
    },
    async restore(rows) {
      // One key stands in the ledger once for each secret that it was sealed with: the line that opens counts, else the last.
      const lines = new Map<string, KeyLine & { opens: boolean }>()
      for (const row of rows) {
        const opens = openedWith(Buffer.from(row.sealed, 'base64'), row.id) !== undefined
        if (opens || !lines.get(row.id)?.opens) lines.set(row.id, { ...row, opens })
      }
      return db.transaction(async (tx) => {
        await locked(tx)
        const stored = new Map((await tx.$queryRawUnsafe<KeyRow[]>(allKeys)).map((row) => [row.id, row]))
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
    },
  }
}
