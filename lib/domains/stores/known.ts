import pg from 'pg'
import type { Clock } from '#lib/kernel/clock.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { FolderMark } from '#lib/stores/folder-mark.ts'
import { addressHash, type KnownStore, type RememberedPort, type WhatIsMissing } from '#lib/stores/known-store.ts'
import { asProblem, type Database } from '#lib/stores/postgres/database.ts'
import { notedFor, trustedFor } from './rules.ts'

/** A store as the settings name it. */
export interface ConnectedStore {
  port: RememberedPort
  provider: string
  /** What tells it from another of its port, whoever signs in there. */
  identity: string | FolderMark
  /** By which a folder was known before it had a mark; it is not that one where nothing lies there and `named` (SQL) has a row of what should. */
  formerly?: { identity: string; isBare(): Promise<boolean>; named: string }
  /** There is one of it for all processes, wherever each sees it: at another address, too, another is another. */
  isSole?: boolean
  /** Without credentials. */
  shown: string
}
export interface KnownStoreParts {
  db: Database
  clock: Clock
  connected: readonly ConnectedStore[]
  /** Whether one that is not connected can be looked into all the same, because it is of this installation, and has nothing. */
  isEmpty(store: KnownStore, tx: Transaction): Promise<boolean>
}

/** Of all places, those of a port in which something stays. */
export const connectedStores = (
  sites: readonly { port: RememberedPort | null; provider: string; identity: string | null; address: string | null }[],
): ConnectedStore[] =>
  sites.flatMap(({ port, provider, identity, address }) =>
    port === null || identity === null ? [] : [{ port, provider, identity, shown: address ?? provider }],
  )

const unmarked = 'unmarked'
const another = `SELECT 1 FROM known_stores WHERE port = $1 AND ($2::text IS NULL OR shown = $2) AND retired_at IS NULL
  AND NOT (address = ANY($3::text[])) AND provider = $4 LIMIT 1`

const formerHash = ({ provider, formerly }: ConnectedStore): string | undefined =>
  formerly && addressHash(provider, formerly.identity)

type Asking = (text: string, values: unknown[]) => Promise<unknown[]>
/** By which a folder may still be known that has no mark: unless what rows name is not there. */
async function formerAddress(store: ConnectedStore, ask: Asking): Promise<string | undefined> {
  const { formerly } = store
  if (!formerly || ((await formerly.isBare()) && (await ask(formerly.named, [])).length > 0)) return undefined
  return formerHash(store)
}
/** Whether something else was used where this folder lies, and nobody said that nothing is left of it. */
async function hasTakenPlace(store: ConnectedStore, address: string | undefined, ask: Asking): Promise<boolean> {
  if (typeof store.identity === 'string') return false
  const own = [address, await formerAddress(store, ask)].filter((one) => one !== undefined)
  return (await ask(another, [store.port, store.isSole ? null : store.shown, own, store.provider])).length > 0
}

/** Remembers which stores kept data, so that one that is switched off is not taken for one that has nothing. */
export function knownStores({ db, clock, connected, isEmpty }: KnownStoreParts) {
  const byPort = new Map(connected.map((store) => [store.port, store]))
  const asking: Asking = (text, values) => db.query(undefined, text, values)
  const noted = new Map<string, { until: number; noting: Promise<void> }>()

  /** By which the connected store of a port is known; undefined: there is none, or a folder that has no mark. */
  async function addressOf(port: RememberedPort): Promise<string | undefined> {
    const store = byPort.get(port)
    const identity = typeof store?.identity === 'object' ? await store.identity.read() : store?.identity
    return store === undefined || identity === undefined ? undefined : addressHash(store.provider, identity)
  }

  // On a connection of its own: it is asked for inside transactions, and as many of those as there are connections would wait for each other.
  async function apart<T>(work: (ask: Asking) => Promise<T>): Promise<T> {
    const client = new pg.Client({
      connectionString: db.pool.options.connectionString,
      connectionTimeoutMillis: 5_000,
      query_timeout: 10_000,
    })
    client.on('error', () => {})
    try {
      await client.connect()
      return await work(async (text, values) => (await client.query(text, values)).rows)
    } catch (error) {
      throw asProblem(error)
    } finally {
      await client.end().catch(() => {})
    }
  }

  async function checkPlace(ask: Asking, store: ConnectedStore, address?: string): Promise<void> {
    if (await hasTakenPlace(store, address, ask))
      throw new Problem(
        'unavailable',
        'The folder of this store is not the one that was used: another disk is mounted in its place, or none, or two machines of this installation do not share it. Nothing was lost, and it is tried again. If it is gone for good, an admin can state that nothing is left there.',
      )
  }
  const note = (store: ConnectedStore, address: string, now: Date): Promise<void> =>
    apart(async (ask) => {
      const { port, provider, shown } = store
      await checkPlace(ask, store, address)
      const former = await formerAddress(store, ask)
      if (former !== undefined)
        await ask(
          `UPDATE known_stores SET address = $3 WHERE port = $1 AND address = $2
             AND NOT EXISTS (SELECT FROM known_stores AS k WHERE k.port = $1 AND k.address = $3)`,
          [port, former, address],
        )
      await ask(
        `INSERT INTO known_stores (id, port, provider, address, shown, first_seen, last_seen)
         VALUES ($1, $2, $3, $4, $5, $6, $6)
         ON CONFLICT (port, address) DO UPDATE SET shown = excluded.shown,
           last_seen = GREATEST(known_stores.last_seen, excluded.last_seen),
           retired_at = NULL, retired_by = NULL, statement = NULL`,
        [newId('store'), port, provider, address, shown, now],
      )
    })
  /** Does the work unless it was done a short while ago; many at once do it once. */
  async function once(which: string, lasts: number, work: (now: Date) => Promise<void>): Promise<void> {
    const now = clock.now()
    const known = noted.get(which)
    if (known && now.getTime() < known.until) return known.noting
    const made = { until: now.getTime() + lasts, noting: work(now) }
    noted.set(which, made)
    try {
      await made.noting
    } catch (error) {
      if (noted.get(which) === made) noted.delete(which)
      throw error
    }
  }
  /** Of a folder without a mark: marks it if it is time. Throws `unavailable` where another one was used in its place. */
  async function markedAt(store: ConnectedStore, isPut: boolean): Promise<string | undefined> {
    if (typeof store.identity === 'string' || !store.identity.make) return undefined
    // Whatever comes back in its place is written down anew, as nobody's word that it is gone holds then.
    for (const which of noted.keys())
      if (which.startsWith(`${store.port} `) && !which.endsWith(unmarked)) noted.delete(which)
    await once(`${store.port} ${unmarked}`, isPut ? 0 : trustedFor, () => apart((ask) => checkPlace(ask, store)))
    return (await store.identity.make(isPut)) ? addressOf(store.port) : undefined
  }

  return {
    addressOf,
    /**
     * Writes down that the connected store of this port is used: before its first use in this process, then once a day; `isPut`: something is
     * to be put there. Throws `unavailable` where a folder is not the one that was used in its place.
     */
    async used(port: RememberedPort, isPut = false): Promise<void> {
      const store = byPort.get(port)
      if (!store) return
      const address = (await addressOf(port)) ?? (await markedAt(store, isPut))
      if (address !== undefined) await once(`${port} ${address}`, notedFor, (now) => note(store, address, now))
    },

    /** Whether the connected store of this port is a folder that is not the one that was used in its place. */
    async isAnother(port: RememberedPort): Promise<boolean> {
      const store = byPort.get(port)
      if (!store || typeof store.identity === 'string') return false
      return hasTakenPlace(store, await addressOf(port), asking)
    },

    /** What this installation calls its connected store of the port; another installation that uses it, too, calls it otherwise. */
    async idOf(port: RememberedPort): Promise<string> {
      await this.used(port)
      const address = (await addressOf(port)) ?? ''
      const { id } = await db.prisma.knownStore.findUniqueOrThrow({ where: { port_address: { port, address } } })
      return id
    },

    missing:
      (port: RememberedPort): WhatIsMissing =>
      async (tx) => {
        const store = byPort.get(port)
        const marked = await addressOf(port)
        const ask = async (within: Transaction) => {
          const asked: Asking = (text, values) => within.$queryRawUnsafe<unknown[]>(text, ...values)
          const address = marked ?? (store && (await formerAddress(store, asked))) ?? ''
          const rows = await within.knownStore.findMany({
            where: { port, retiredAt: null, address: { not: address } },
            orderBy: { firstSeen: 'asc' },
          })
          const missing: KnownStore[] = []
          for (const row of rows) {
            const isHere = marked === undefined && row.address === (store && formerHash(store))
            if (isHere || !(await isEmpty(row, within))) missing.push(row)
          }
          return missing
        }
        return tx ? ask(tx) : db.transaction(ask)
      },
  }
}
export type KnownStores = ReturnType<typeof knownStores>
