import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { link, mkdir, open, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { deriveKey, seal, unsealed } from '#lib/config/secret.ts'
import { errorCode } from '#lib/kernel/error-code.ts'

/** The key that authenticates the rows, derived from the installation's secret. `id` names it in rows without revealing it. */
export interface LedgerKey {
  id: string
  key: Buffer
}
const keyOf = (key: Buffer): LedgerKey => ({
  id: createHash('sha256').update('name of a ledger key').update(key).digest('base64url').slice(0, 8),
  key,
})
export const ledgerKeyOf = (secret: string): LedgerKey => keyOf(deriveKey(secret, 'erasure ledger'))

const Head = z.object({
  id: z.string(),
  /** Rows from before authentication, accepted once: the first `bytes` of a file, if they still have this hash. */
  sealed: z.record(z.string(), z.object({ bytes: z.number(), hash: z.string() })),
  /** Files of earlier months were removed when their retention ended; null if none were. */
  prunedBefore: z.string().nullable(),
  /** Problems within the first bytes of a file that an operator accepted: refused rows are no longer reported. */
  accepted: z.record(z.string(), z.number()),
  /** Where a former key ended: a later row under it was not written by us. */
  ended: z.record(z.string(), z.object({ file: z.string(), bytes: z.number() })),
})
/** What the ledger's folder states about itself, in the file `ledger.head`. */
export type LedgerHead = z.output<typeof Head>
const HeadFile = z.object({
  head: Head,
  /** Former keys, each sealed with a later key: a rotation of the secret adds entries and removes none. */
  keys: z.array(z.object({ by: z.string(), id: z.string(), sealed: z.string() })),
  /** The authentication of `head` by key. */
  macs: z.record(z.string(), z.string()),
})
type HeadFile = z.output<typeof HeadFile>

/** A readable head: `keys` are all keys under which rows may be authenticated. */
export interface OpenedHead extends LedgerHead {
  keys: ReadonlyMap<string, Buffer>
}

export const hmac = (key: Buffer, text: string): string => createHmac('sha256', key).update(text).digest('base64url')
export const isSameMac = (one: string, other: string): boolean =>
  one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other))

const headPath = (folder: string): string => join(folder, 'ledger.head')
const macOf = (head: LedgerHead, { key }: LedgerKey): string => hmac(key, `head ${JSON.stringify(Head.parse(head))}`)
const aboutKey = (by: string, id: string): string => `ledger key ${id} by ${by}`

/** The head's file. Undefined if the ledger has none; `damaged` if it cannot be parsed. */
async function headFileIn(folder: string): Promise<HeadFile | 'damaged' | undefined> {
  const text = await readFile(headPath(folder), 'utf8').catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return undefined
    throw error
  })
  if (text === undefined) return undefined
  try {
    return HeadFile.parse(JSON.parse(text))
  } catch {
    return 'damaged'
  }
}

/** The present key and every former key that it opens, directly or through another former key. */
function keysOf(file: HeadFile, present: LedgerKey): Map<string, Buffer> {
  const keys = new Map([[present.id, present.key]])
  for (let before = 0; before < keys.size; ) {
    before = keys.size
    for (const { by, id, sealed } of file.keys) {
      const sealer = keys.get(by)
      if (!sealer || keys.has(id)) continue
      const key = unsealed(sealer, Buffer.from(sealed, 'base64'), aboutKey(by, id))
      if (key) keys.set(id, key)
    }
  }
  return keys
}

/** The head of a ledger. `foreign`: another secret made it, or it was changed. Undefined: the folder has none. */
export async function openHead(folder: string, present: LedgerKey): Promise<OpenedHead | 'foreign' | undefined> {
  const file = await headFileIn(folder)
  if (file === undefined) return undefined
  if (file === 'damaged') return 'foreign'
  const mac = file.macs[present.id]
  if (mac === undefined || !isSameMac(mac, macOf(file.head, present))) return 'foreign'
  return { ...file.head, keys: keysOf(file, present) }
}

/** Waits until the names in the folder are on the disk. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  await handle.sync()
  await handle.close()
}

/** Writes a file so that readers see the former content or the new one, and both survive a crash. */
export async function replaceFile(path: string, text: string, isFirst = false): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const draft = `${path}.${randomBytes(6).toString('hex')}.draft`
  const handle = await open(draft, 'wx', 0o600)
  await handle.writeFile(text)
  await handle.datasync()
  await handle.close()
  if (isFirst) {
    // Of several concurrent writers, the first one wins.
    await link(draft, path).catch((error: unknown) => {
      if (errorCode(error) !== 'EEXIST') throw error
    })
    await rm(draft)
  } else await rename(draft, path)
  await syncFolder(dirname(path))
}

/** Creates the head of a ledger that has none. */
export async function createHead(folder: string, present: LedgerKey, sealed: LedgerHead['sealed'] = {}): Promise<void> {
  const head: LedgerHead = {
    id: randomBytes(12).toString('base64url'),
    sealed,
    prunedBefore: null,
    accepted: {},
    ended: {},
  }
  const file: HeadFile = { head, keys: [], macs: { [present.id]: macOf(head, present) } }
  await replaceFile(headPath(folder), JSON.stringify(file), true)
}

/** Changes what the head states. The former keys remain; only the present key authenticates the new head. */
export async function changeHead(
  folder: string,
  present: LedgerKey,
  change: (head: LedgerHead) => LedgerHead,
): Promise<void> {
  const file = await headFileIn(folder)
  if (file === undefined || file === 'damaged') throw new Error('The ledger has no readable head.')
  const head = change(file.head)
  await replaceFile(headPath(folder), JSON.stringify({ ...file, head, macs: { [present.id]: macOf(head, present) } }))
}

/** Removes the head of a ledger that an operator declared lost, so that a new one can be created. */
export const removeHead = (folder: string): Promise<void> => rm(headPath(folder), { force: true })

/**
 * Lets the secret `to` authenticate and read the ledger as `from` does. `from` remains able to, in case the rotation is discarded. Safe
 * to repeat. Nothing happens if `from` did not make the head.
 */
export async function adoptKeys(folder: string, from: string, to: string): Promise<void> {
  const [former, present] = [ledgerKeyOf(from), ledgerKeyOf(to)]
  const file = await headFileIn(folder)
  if (file === undefined || file === 'damaged' || former.id === present.id) return
  const mac = file.macs[former.id]
  if (mac === undefined || !isSameMac(mac, macOf(file.head, former))) return
  const known = new Set(file.keys.filter(({ by }) => by === present.id).map(({ id }) => id))
  const added = [...keysOf(file, former)]
    .filter(([id]) => id !== present.id && !known.has(id))
    .map(([id, key]) => ({
      by: present.id,
      id,
      sealed: seal(present.key, key, aboutKey(present.id, id)).toString('base64'),
    }))
  const macs = { ...file.macs, [present.id]: macOf(file.head, present) }
  if (added.length === 0 && file.macs[present.id] === macs[present.id]) return
  await replaceFile(headPath(folder), JSON.stringify({ ...file, keys: [...file.keys, ...added], macs }))
}
