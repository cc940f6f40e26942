import { createHash } from 'node:crypto'
import type { Transaction } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'

/** Ports that may be connected to a different store after a change of settings. */
export const storePorts = ['graph', 'cache', 'objects', 'checkpoints'] as const
export type StorePort = (typeof storePorts)[number]
/**
 * Ports whose stores are remembered, so that a disconnected store is not mistaken for an empty one: the store ports, and the folders of
 * the erasure ledger, of the snapshot keys and of prepared exports.
 */
export const rememberedPorts = [...storePorts, 'ledger', 'snapshot_keys', 'exports'] as const
export type RememberedPort = (typeof rememberedPorts)[number]

/** SHA-256 in hexadecimal of what identifies a store. */
export const addressHash = (provider: string, identity: string): string =>
  createHash('sha256').update(`${provider} ${identity}`).digest('hex')

/** A store in which this installation has stored data. */
export interface RegisteredStore {
  id: string
  port: string
  provider: string
  /** SHA-256 of what identifies it. */
  address: string
  /** The address of the store without credentials, for display. */
  shown: string
  firstSeen: Date
  lastSeen: Date
}
/** Stores of a port that held data, are not connected now, and were not retired. */
export type MissingStoreData = (tx?: Transaction) => Promise<RegisteredStore[]>

/** @throws {Problem} `unavailable` while a store that contains data is not connected. Its data counts as still stored. */
export async function requireConnectedStores(whatIsMissing: MissingStoreData, tx?: Transaction): Promise<void> {
  const missing = await whatIsMissing(tx)
  if (missing.length > 0)
    throw new Problem(
      'unavailable',
      `A store that contains data is not connected: ${missing.map(({ shown }) => shown).join(', ')}. Nothing in it was erased. Connect it again, or ask an admin to retire it.`,
    )
}
