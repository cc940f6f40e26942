import { createHash } from 'node:crypto'
import type { Transaction } from '#lib/kernel/context.ts'

/** Ports whose store may be another one tomorrow. */
export const storePorts = ['graph', 'cache', 'objects', 'checkpoints'] as const
export type StorePort = (typeof storePorts)[number]
/** Whose stores are remembered, so that one which is away is not taken for one that has nothing: those, and the folders of the erasure ledger and of snapshots' keys. */
export const rememberedPorts = [...storePorts, 'ledger', 'snapshot_keys'] as const
export type RememberedPort = (typeof rememberedPorts)[number]

/** SHA-256 of what tells a store from another, in hexadecimal. */
export const addressHash = (provider: string, identity: string): string =>
  createHash('sha256').update(`${provider} ${identity}`).digest('hex')

/** A store that this installation has kept data in. */
export interface KnownStore {
  id: string
  port: string
  provider: string
  /** SHA-256 of what tells it from another. */
  address: string
  /** Its address without credentials, as people read it. */
  shown: string
  firstSeen: Date
  lastSeen: Date
}
/** Stores of a port that kept data, are not connected now, and have not been retired. */
export type WhatIsMissing = (tx?: Transaction) => Promise<KnownStore[]>
