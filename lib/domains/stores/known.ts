import { createHash } from 'node:crypto'
import pg from 'pg'
import type { Clock } from '#lib/kernel/clock.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import type { KnownStore, RememberedPort, WhatIsMissing } from '#lib/stores/known-store.ts'
import { asProblem, type Database } from '#lib/stores/postgres/database.ts'
import { notedFor } from './rules.ts'

/** A store as the settings name it. */
export interface ConnectedStore {
  port: RememberedPort
  provider: string
  /** What tells it from another of its port, whoever signs in there; of a store that is known by what lies in it, undefined while nothing does. */
  identity: string | (() => Promise<string | undefined>)
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
const addressHash = (provider: string, identity: string): string =>
  createHash('sha256').update(`${provider} ${identity}`).digest('hex')

/** Remembers which stores kept data, so that one that is switched off is not taken for one that has nothing. */
export function knownStores({ db, clock, connected, isEmpty }: KnownStoreParts) {
  const byPort = new Map(connected.map((store) => [store.port, store]))
  const noted = new Map<string, { until: number; noting: Promise<void> }>()

  /** By which the connected store of a port is known; undefined: there is none, or nothing lies in it yet. */
  async function addressOf(port: RememberedPort): Promise<string | undefined> {
    const store = byPort.get(port)
    const identity = typeof store?.identity === 'function' ? await store.identity() : store?.identity
    return store === undefined || identity === undefined ? undefined : addressHash(store.provider, identity)
  }

  // On a connection of its own: it is asked for inside transactions, and as many of those as there are connections would wait for each other.
  async function note(port: RememberedPort, address: string, now: Date): Promise<void> {
    const store = byPort.get(port)
    if (!store) return
    const client = new pg.Client({
      connectionString: db.pool.options.connectionString,
      connectionTimeoutMillis: 5_000,
      query_timeout: 10_000,
    })
    client.on('error', () => {})
    try {
      await client.connect()
      await client.query(
        `INSERT INTO known_stores (id, port, provider, address, shown, first_seen, last_seen)
         VALUES ($1, $2, $3, $4, $5, $6, $6)
         ON CONFLICT (port, address) DO UPDATE SET shown = excluded.shown,
           last_seen = GREATEST(known_stores.last_seen, excluded.last_seen),
           retired_at = NULL, retired_by = NULL, statement = NULL`,
        [newId('store'), port, store.provider, address, store.shown, now],
      )
    } catch (error) {
      throw asProblem(error)
    } finally {
      await client.end().catch(() => {})
    }
  }

  return {
    addressOf,
    /** Writes down that the connected store of this port is used: before its first use in this process, then once a day. */
    async used(port: RememberedPort): Promise<void> {
      const now = clock.now()
      const address = await addressOf(port)
      if (address === undefined) return
      const which = `${port} ${address}`
      const known = noted.get(which)
      if (known && now.getTime() < known.until) return known.noting
      const made = { until: now.getTime() + notedFor, noting: note(port, address, now) }
      noted.set(which, made)
      try {
        await made.noting
      } catch (error) {
        if (noted.get(which) === made) noted.delete(which)
        throw error
      }
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
        const address = await addressOf(port)
        const ask = async (within: Transaction) => {
          const rows = await within.knownStore.findMany({
            where: { port, retiredAt: null, address: { not: address ?? '' } },
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
