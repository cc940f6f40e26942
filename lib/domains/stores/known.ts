import { createHash } from 'node:crypto'
import pg from 'pg'
import type { Clock } from '#lib/kernel/clock.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { FolderMark } from '#lib/stores/folder-mark.ts'
import type { KnownStore, RememberedPort, WhatIsMissing } from '#lib/stores/known-store.ts'
import { asProblem, type Database } from '#lib/stores/postgres/database.ts'
import { notedFor, trustedFor } from './rules.ts'

/** A store as the settings name it. */
export interface ConnectedStore {
  port: RememberedPort
  provider: string
  /** What tells it from another of its port, whoever signs in there. */
  identity: string | FolderMark
  /** By which a folder was known before it had a mark. */
  formerly?: string
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

/** SHA-256 of what tells a store from another, in hexadecimal. */
export const addressHash = (provider: string, identity: string): string =>
  createHash('sha256').update(`${provider} ${identity}`).digest('hex')

const formerAddress = ({ provider, formerly }: ConnectedStore): string | undefined =>
  formerly === undefined ? undefined : addressHash(provider, formerly)
const isAnother = `SELECT 1 FROM known_stores WHERE port = $1 AND shown = $2 AND retired_at IS NULL AND NOT (address = ANY($3::text[])) LIMIT 1`

/** Remembers which stores kept data, so that one that is switched off is not taken for one that has nothing. */
export function knownStores({ db, clock, connected, isEmpty }: KnownStoreParts) {
  const byPort = new Map(connected.map((store) => [store.port, store]))
  const noted = new Map<string, { until: number; noting: Promise<void> }>()

  /** By which the connected store of a port is known; undefined: there is none, or a folder that has no mark. */
  async function addressOf(port: RememberedPort): Promise<string | undefined> {
    const store = byPort.get(port)
    const identity = typeof store?.identity === 'object' ? await store.identity.read() : store?.identity
    return store === undefined || identity === undefined ? undefined : addressHash(store.provider, identity)
  }

  // On a connection of its own: it is asked for inside transactions, and as many of those as there are connections would wait for each other.
  async function apart<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
    const client = new pg.Client({
      connectionString: db.pool.options.connectionString,
      connectionTimeoutMillis: 5_000,
      query_timeout: 10_000,
    })
    client.on('error', () => {})
    try {
      await client.connect()
      return await work(client)
    } catch (error) {
      throw asProblem(error)
    } finally {
      await client.end().catch(() => {})
    }
  }

  /** Whether something else was used where this folder lies, and nobody said that nothing is left of it. */
  async function hasTakenPlace(client: pg.Client, store: ConnectedStore, address?: string): Promise<boolean> {
    if (typeof store.identity === 'string') return false
    const own = [address, formerAddress(store)].filter((one) => one !== undefined)
    const { rowCount } = await client.query(isAnother, [store.port, store.shown, own])
    return rowCount !== 0
  }
  async function checkPlace(client: pg.Client, store: ConnectedStore, address?: string): Promise<void> {
    if (await hasTakenPlace(client, store, address))
      throw new Problem(
        'unavailable',
        'The folder of this store is not the one that was used: another disk is mounted in its place, or none, or server and worker do not share it. Nothing was lost, and it is tried again. If it is gone for good, an admin can state that nothing is left there.',
      )
  }
  const note = (store: ConnectedStore, address: string, now: Date): Promise<void> =>
    apart(async (client) => {
      const { port, provider, shown } = store
      await checkPlace(client, store, address)
      const former = formerAddress(store)
      if (former !== undefined)
        await client.query(
          `UPDATE known_stores SET address = $3 WHERE port = $1 AND address = $2
             AND NOT EXISTS (SELECT FROM known_stores AS k WHERE k.port = $1 AND k.address = $3)`,
          [port, former, address],
        )
      await client.query(
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
    await once(`${store.port} unmarked`, isPut ? 0 : trustedFor, () => apart((client) => checkPlace(client, store)))
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
      const address = await addressOf(port)
      return apart((client) => hasTakenPlace(client, store, address))
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
        // One without a mark is the one that was known by its path.
        const address = (await addressOf(port)) ?? (store && formerAddress(store)) ?? ''
        const ask = async (within: Transaction) => {
          const rows = await within.knownStore.findMany({
            where: { port, retiredAt: null, address: { not: address } },
            orderBy: { firstSeen: 'asc' },
          })
          const missing: KnownStore[] = []
          for (const row of rows) if (!(await isEmpty(row, within))) missing.push(row)
          return missing
        }
        return tx ? ask(tx) : db.transaction(ask)
      },
  }
}
export type KnownStores = ReturnType<typeof knownStores>
