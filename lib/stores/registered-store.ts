import { createHash } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { markFile, markIn } from '#lib/config/data-folder.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { errorCode } from '#lib/kernel/error-code.ts'
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

/** Identifies a folder by a mark file inside it. A path is not enough: another disk, or none, may later be mounted at the same path. */
export interface FolderMark {
  /** Undefined if the folder has no mark. */
  read(): Promise<string | undefined>
  /**
   * Creates the mark before data is written (`isPut`), or if the folder already contains data from before marks existed. Returns whether
   * it did. Undefined: the writer of the folder creates the mark.
   */
  make?(isPut: boolean): Promise<boolean>
}

export const folderMarkPath = (folder: string): string => join(folder, 'folder.mark')

/** Reports the file system's error without the path. */
const refused = (error: unknown): never => {
  if (Problem.is(error)) throw error
  throw new Problem('unavailable', {
    detail: `The folder cannot be used (${errorCode(error) ?? 'unknown fault'}). No data was lost. Try again later.`,
    headers: { 'Retry-After': '60' },
    cause: error,
  })
}

/**
 * A mark in the file `folder.mark`, which moves with the folder. No object, row or key has such a name. @throws `unavailable` if the
 * folder cannot be used
 */
export function folderMark(folder: string, hasNothing: (folder: string) => Promise<boolean>): Required<FolderMark> {
  const file = folderMarkPath(folder)
  async function make(isPut: boolean): Promise<boolean> {
    if (!isPut && (await hasNothing(folder))) return false
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await markFile(file)
    return true
  }
  return { read: () => markIn(file).catch(refused), make: (isPut) => make(isPut).catch(refused) }
}
