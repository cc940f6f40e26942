import { Problem } from '#lib/kernel/problem.ts'
import type { FoundInThread, Rewritten, Wanted } from './checkpoints.ts'
import { isObject, type JsonObject } from './messages.ts'
import { holdsAny } from './needles.ts'
import { isDerived, type Rewriting, rewriteValue } from './rewriting.ts'
import { type Ask, type Shape, type ThreadRow, threadRows, writeBlob, writeCheckpoint } from './rows.ts'
import { cutBytes, decode, decodeColumn, encode, Unreadable } from './serialised.ts'
import { type Doomed, surveyor } from './survey.ts'

/** Of a checkpoint: what it is, and no word of a message. */
const structure = new Set(['v', 'id', 'ts', 'channel_versions', 'versions_seen', 'updated_channels'])
const withoutStructure = (checkpoint: unknown): JsonObject =>
  isObject(checkpoint) ? Object.fromEntries(Object.entries(checkpoint).filter(([key]) => !structure.has(key))) : {}

/** Versions count up: as numbers, or as Python's strings of fixed width. */
function isBefore(one: string, other: string): boolean {
  const isNumber = /^\d+$/
  return isNumber.test(one) && isNumber.test(other) ? Number(one) < Number(other) : one < other
}
/** Since when, in each namespace, something of what goes stands there: by version, and by checkpoint. */
interface Since {
  version?: string
  checkpoint?: string
}
interface Surveyed extends FoundInThread {
  doomed: Doomed
  lists: ReadonlySet<string>
  since: ReadonlyMap<string, Since>
}

async function survey(
  ask: Ask,
  shape: Shape,
  thread: string,
  wanted: Wanted,
  lock: '' | 'FOR UPDATE',
): Promise<Surveyed> {
  const reader = surveyor(wanted)
  const lists = new Set(['messages', '__pregel_tasks'])
  const since = new Map<string, Since>()
  let isUnreadable = false
  const read = (row: ThreadRow): boolean => {
    if (row.table === 'checkpoints') {
      const { checkpoint, metadata } = row
      const parts = [withoutStructure(decodeColumn(checkpoint ?? 'null')), decodeColumn(metadata ?? 'null')]
      return parts.map((part) => reader.read(part)).includes(true)
    }
    const decoded = decode(row.type, row.blob)
    if (decoded.kind === 'tree') {
      if (Array.isArray(decoded.tree) && row.table === 'checkpoint_blobs') lists.add(row.channel)
      return reader.read(decoded.tree)
    }
    if (decoded.kind !== 'nothing') reader.readBytes(decoded.bytes)
    return false
  }
  for await (const row of threadRows(ask, shape, thread, lock)) {
    try {
      if (!read(row)) continue
    } catch (error) {
      if (!(error instanceof Unreadable) && !(error instanceof RangeError)) throw error
      isUnreadable = true
      continue
    }
    const known = since.get(row.ns) ?? {}
    if (row.version !== '' && (known.version === undefined || isBefore(row.version, known.version)))
      known.version = row.version
    if (row.checkpointId !== '' && (known.checkpoint === undefined || row.checkpointId < known.checkpoint))
      known.checkpoint = row.checkpointId
    since.set(row.ns, known)
  }
  const { doomed, messages } = reader.settle()
  return { doomed, messages, lists, since, isUnreadable, standing: reader.standing }
}

/** What of the thread would go; reads alone. */
export async function findInThread(ask: Ask, shape: Shape, thread: string, wanted: Wanted): Promise<FoundInThread> {
  const { messages, standing, isUnreadable } = await survey(ask, shape, thread, wanted, '')
  return { messages, standing, isUnreadable }
}

/** One row; true when it was changed. Throws {@link Unreadable}. */
async function rewriteRow(ask: Ask, shape: Shape, row: ThreadRow, surveyed: Surveyed): Promise<boolean> {
  const { doomed, lists } = surveyed
  const since = surveyed.since.get(row.ns)
  const isLater = (version: string | undefined): boolean => {
    if (!since) return false
    if (version !== undefined) return since.version !== undefined && !isBefore(version, since.version)
    return since.checkpoint === undefined || row.checkpointId >= since.checkpoint
  }
  const how = (version?: string): Rewriting => ({ doomed, lists, isLater: isLater(version) })
  if (row.table === 'checkpoints') {
    const checkpoint = decodeColumn(row.checkpoint ?? 'null')
    if (!isObject(checkpoint)) throw new Unreadable('no checkpoint')
    const versions = isObject(checkpoint.channel_versions) ? checkpoint.channel_versions : {}
    const { channel_values: inline, ...rest } = withoutStructure(checkpoint)
    let isChanged = false
    const take = (made: { value: unknown; isChanged: boolean }): unknown => {
      isChanged ||= made.isChanged
      return made.value
    }
    const values = isObject(inline)
      ? Object.fromEntries(
          Object.entries(inline).map(([channel, value]) => [
            channel,
            take(rewriteValue(value, channel, how(channel in versions ? String(versions[channel]) : undefined))),
          ]),
        )
      : inline
    const others = take(rewriteValue(rest, '', how()))
    const metadata = take(rewriteValue(decodeColumn(row.metadata ?? '{}'), '', how()))
    if (!isChanged) return false
    const made = {
      ...checkpoint,
      ...(isObject(others) && others),
      ...(inline !== undefined && { channel_values: values }),
    }
    await writeCheckpoint(ask, shape, row, JSON.stringify(made), JSON.stringify(metadata))
    return true
  }
  const decoded = decode(row.type, row.blob)
  const of = how(row.table === 'checkpoint_blobs' && row.version !== '' ? row.version : undefined)
  if (decoded.kind === 'nothing') return false
  if (decoded.kind === 'msgpack') {
    if (holdsAny(decoded.bytes, doomed) || (of.isLater && isDerived(row.channel)))
      throw new Unreadable('written by Python')
    return false
  }
  if (decoded.kind === 'bytes') {
    // In a list, so that a text that is an id and nothing else comes back as what it is: nothing.
    const cut = (text: string): string => [rewriteValue([text], '', of).value].flat().join('')
    const bytes = cutBytes(decoded.bytes, doomed, cut)
    if (bytes) await writeBlob(ask, shape, row, bytes)
    return bytes !== undefined
  }
  const made = rewriteValue(decoded.tree, row.channel, of)
  if (!made.isChanged || !row.blob) return false
  await writeBlob(ask, shape, row, await encode(made.value, row.blob))
  return true
}

const refused = (thread: string, cause?: unknown): Problem =>
  new Problem('conflict', {
    detail: `The thread ${JSON.stringify(thread)} holds a checkpoint that cannot be rewritten safely. Nothing of the thread was changed. An admin may delete the whole thread instead.`,
    // The log says the same, and no page shows it: who may let the thread go needs to know which.
    extensions: { thread },
    cause,
  })

/** In the caller's transaction, with the thread locked. */
export async function rewriteThread(ask: Ask, shape: Shape, thread: string, wanted: Wanted): Promise<Rewritten> {
  const surveyed = await survey(ask, shape, thread, wanted, 'FOR UPDATE')
  if (surveyed.isUnreadable) throw refused(thread)
  let rows = 0
  for await (const row of threadRows(ask, shape, thread, '')) {
    try {
      if (await rewriteRow(ask, shape, row, surveyed)) rows++
    } catch (error) {
      if (!(error instanceof Unreadable) && !(error instanceof RangeError)) throw error
      throw refused(thread, error)
    }
  }
  return { rows, messages: surveyed.messages.length }
}
