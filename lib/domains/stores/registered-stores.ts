import type { ClientBase } from 'pg'
import pg from 'pg'
import type { Clock, Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { asProblem } from '#lib/stores/postgres/problems.ts'
import type { Queryable } from '#lib/stores/postgres/statement.ts'
import { type RunQuery, statementRunner } from '#lib/stores/postgres/statement.ts'
import type { FolderMark } from '#lib/stores/registered-store.ts'
import {
  addressHash,
  type MissingStoreData,
  type RegisteredStore,
  type RememberedPort,
} from '#lib/stores/registered-store.ts'
import { otherStore, recordUse, renameStore, retireOtherLedgers, usedLedgers } from './repository.ts'
import { storeUseInterval, trustedFor } from './rules.ts'

/** A store as the settings name it. */
export interface ConnectedStore {
  port: RememberedPort
  provider: string
  /** Distinguishes it from other stores of its port, independent of credentials. */
  identity: string | FolderMark
  /** Identity of a folder before it had a mark. Not valid when the folder is empty although rows name data in it. */
  formerly?: { identity: string; isBare(): Promise<boolean>; isNamed(query: RunQuery): Promise<boolean> }
  /**
   * All processes share one such store, which each may see at another path. Any other recorded store of the port is
   * then a different one.
   */
  isSole?: boolean
  /** Milliseconds after the last recorded use. Afterwards a store of the port has no data any more. Undefined: forever. */
  countsFor?: number
  /** The address of the store without credentials, for display. */
  shown: string
}
interface RegisteredStoreDeps {
  db: Database
  clock: Clock
  connected: readonly ConnectedStore[]
  /** Whether a disconnected store can still be inspected, because it belongs to this installation, and is empty. */
  isEmpty(store: RegisteredStore, tx: Transaction): Promise<boolean>
}

/** The sites of a port that stores data. */
export const connectedStoresOf = (
  sites: readonly { port: RememberedPort | null; provider: string; identity: string | null; address: string | null }[],
): ConnectedStore[] =>
  sites.flatMap(({ port, provider, identity, address }) =>
    port === null || identity === null ? [] : [{ port, provider, identity, shown: address ?? provider }],
  )

const unmarked = 'unmarked'
const formerHash = ({ provider, formerly }: ConnectedStore): string | undefined =>
  formerly && addressHash(provider, formerly.identity)

const runQueryOn = (on: Queryable): RunQuery => {
  const run = statementRunner(on)
  return async (text, values) => (await run(undefined, text, values)).rows
}
/** The earlier identity of a folder without a mark. Undefined when data that rows name is missing. */
async function formerAddress(store: ConnectedStore, on: Queryable): Promise<string | undefined> {
  const { formerly } = store
  if (!formerly || ((await formerly.isBare()) && (await formerly.isNamed(runQueryOn(on))))) return undefined
  return formerHash(store)
}
/** The last use before which a store of this port no longer counts. */
const countsSince = ({ countsFor }: ConnectedStore, now: Date): Date | null =>
  countsFor === undefined ? null : new Date(now.getTime() - countsFor)
/** Whether another store was used at the place of this folder and was not declared empty. */
async function hasTakenPlace(
  store: ConnectedStore,
  address: string | undefined,
  on: Queryable,
  now: Date,
): Promise<boolean> {
  if (typeof store.identity === 'string') return false
  const own = [address, await formerAddress(store, on)].filter((one) => one !== undefined)
  const { port, shown, isSole, provider } = store
  const place = { port, shown: isSole ? null : shown, own, provider, since: countsSince(store, now) }
  return (await otherStore(on, place)).length > 0
}

/** The address hash of a connected store. Undefined without a store or for a folder without a mark. */
async function addressOf(store: ConnectedStore | undefined): Promise<string | undefined> {
  const identity = typeof store?.identity === 'object' ? await store.identity.read() : store?.identity
  return store === undefined || identity === undefined ? undefined : addressHash(store.provider, identity)
}

/** Uses its own connection: callers are inside transactions and could exhaust the pool, waiting for each other. */
async function onOwnConnection<T>(db: Database, work: (on: Queryable) => Promise<T>): Promise<T> {
  const client = new pg.Client({
    connectionString: db.directUrl,
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

/** @throws Problem `unavailable` for a folder that is not the one used before */
async function checkPlace(on: Queryable, store: ConnectedStore, now: Date, address?: string): Promise<void> {
  if (await hasTakenPlace(store, address, on, now))
    throw new Problem(
      'unavailable',
      'This is not the folder that the store used before: another disk or no disk is mounted, or two machines of this installation do not share the folder. No data was lost, and the check is retried. If the old folder is permanently lost, an admin can confirm that it contains no more data.',
    )
}
/** Records the use of a store. */
const note = (db: Database, store: ConnectedStore, address: string, now: Date): Promise<void> =>
  onOwnConnection(db, async (on) => {
    const { port, provider, shown } = store
    await checkPlace(on, store, now, address)
    const former = await formerAddress(store, on)
    if (former !== undefined) await renameStore(on, { port, former, address })
    await recordUse(on, { id: newId('store'), port, provider, address, shown, now })
  })
/** Does work at most once per period. Concurrent callers share it. */
function oncePerPeriod(clock: Clock) {
  const done = new Map<string, { until: number; work: Promise<void> }>()
  return {
    async once(which: string, lasts: number, work: (now: Date) => Promise<void>): Promise<void> {
      const now = clock.now()
      const known = done.get(which)
      if (known && now.getTime() < known.until) return known.work
      const made = { until: now.getTime() + lasts, work: work(now) }
      done.set(which, made)
      try {
        await made.work
      } catch (error) {
        if (done.get(which) === made) done.delete(which)
        throw error
      }
    },
    forget(isMeant: (which: string) => boolean): void {
      for (const which of done.keys()) if (isMeant(which)) done.delete(which)
    },
  }
}

/** Stores of a port that have had data, are not connected and not known to be empty. */
async function missingData(
  { db, clock, isEmpty }: RegisteredStoreDeps,
  store: ConnectedStore | undefined,
  port: RememberedPort,
  tx: Transaction | undefined,
): Promise<RegisteredStore[]> {
  const marked = await addressOf(store)
  const since = store && countsSince(store, clock.now())
  const find = async (within: Transaction) => {
    const address = marked ?? (store && (await formerAddress(store, within))) ?? ''
    const rows = await within.knownStore.findMany({
      where: { port, retiredAt: null, address: { not: address }, ...(since && { lastSeen: { gt: since } }) },
      orderBy: { firstSeen: 'asc' },
    })
    const missing: RegisteredStore[] = []
    for (const row of rows) {
      const isHere = marked === undefined && row.address === (store && formerHash(store))
      if (isHere || !(await isEmpty(row, within))) missing.push(row)
    }
    return missing
  }
  return tx ? find(tx) : db.transaction(find)
}

/** When an admin last stated that a ledger is lost; null if never. A newer ledger contains nothing from before. */
async function ledgerLostAt(tx: Transaction): Promise<Date | null> {
  const { _max: last } = await tx.knownStore.aggregate({ where: { port: 'ledger' }, _max: { retiredAt: true } })
  return last.retiredAt
}

/** Records that everything in a folder was moved to another store of the port. `former`: the mark of the folder, if it has one. */
export async function recordMove(
  tx: Transaction,
  {
    former,
    identity,
    ...to
  }: { port: RememberedPort; former: string | undefined; provider: string; identity: string; shown: string; now: Date },
): Promise<void> {
  const { port, provider, shown, now } = to
  await recordUse(tx, { id: newId('store'), port, provider, address: addressHash(provider, identity), shown, now })
  if (former === undefined) return
  await tx.knownStore.updateMany({
    where: { port, address: addressHash('files', former), retiredAt: null },
    data: { retiredAt: now, retiredBy: 'system:admin.move-files', statement: 'Everything was moved to a bucket.' },
  })
}

/** Remembers which stores have had data, so that a disconnected store is not taken for an empty one. */
export function registeredStores(deps: RegisteredStoreDeps) {
  const { db, clock, connected } = deps
  const byPort = new Map(connected.map((store) => [store.port, store]))
  const uses = oncePerPeriod(clock)

  /**
   * Marks a folder without a mark when its first data is stored. @throws Problem `unavailable` when another folder was
   * used in its place
   */
  async function markedAt(store: ConnectedStore, isPut: boolean): Promise<string | undefined> {
    if (typeof store.identity === 'string' || !store.identity.make) return undefined
    // Forget recorded uses: a store that returns to this place must be recorded again, because that withdraws its
    // retirement.
    uses.forget((which) => which.startsWith(`${store.port} `) && !which.endsWith(unmarked))
    await uses.once(`${store.port} ${unmarked}`, isPut ? 0 : trustedFor, (now) =>
      onOwnConnection(db, (on) => checkPlace(on, store, now)),
    )
    return (await store.identity.make(isPut)) ? addressOf(store) : undefined
  }

  return {
    addressOf: (port: RememberedPort) => addressOf(byPort.get(port)),
    /**
     * Records the use of the port's connected store: before its first use in this process, then daily. `isPut`: data
     * is about to be stored.
     * @throws Problem `unavailable` for a folder that is not the one used before
     */
    async used(port: RememberedPort, isPut = false): Promise<void> {
      const store = byPort.get(port)
      if (!store) return
      const address = (await addressOf(store)) ?? (await markedAt(store, isPut))
      if (address !== undefined)
        await uses.once(`${port} ${address}`, storeUseInterval, (now) => note(db, store, address, now))
    },

    /** Whether the port's connected store is a folder other than the one used before. */
    async isAnother(port: RememberedPort): Promise<boolean> {
      const store = byPort.get(port)
      if (!store || typeof store.identity === 'string') return false
      return hasTakenPlace(store, await addressOf(store), db, clock.now())
    },

    /** This installation's id of the port's connected store. Other installations with the same store have other ids. */
    async idOf(port: RememberedPort): Promise<string> {
      await this.used(port)
      const address = (await addressOf(byPort.get(port))) ?? ''
      const { id } = await db.prisma.knownStore.findUniqueOrThrow({ where: { port_address: { port, address } } })
      return id
    },

    missing:
      (port: RememberedPort): MissingStoreData =>
      (tx) =>
        missingData(deps, byPort.get(port), port, tx),
    ledgerLostAt,
  }
}
export type RegisteredStores = ReturnType<typeof registeredStores>

/** The erasure ledgers that were used and that no admin declared empty, by address hash. */
export const ledgerAddresses = (client: ClientBase): Promise<{ address: string; shown: string }[]> =>
  usedLedgers(client, {})

/** Records an operator's statement that every ledger except the one with this address hash is lost. */
export const retireLedgers = (client: ClientBase, own: string, now: Date): Promise<unknown> =>
  retireOtherLedgers(client, {
    own,
    now,
    by: 'system:admin.accept-loss',
    said: 'An operator declared the ledger lost.',
  })
