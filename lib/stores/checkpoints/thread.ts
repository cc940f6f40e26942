import { randomUUID } from 'node:crypto'
import { Problem } from '#lib/kernel/problem.ts'
import { leavesTogether, runsAcross } from '../virtual-texts.ts'
import type { FoundInThread, Rewritten, TextSearch, ThreadSearchTerms } from './checkpoints.ts'
import { isPlainObject, type JsonObject, type MessageFacts } from './messages.ts'
import { isUtf8Text } from './msgpack-values.ts'
import { type Rewriting, type RewrittenValue, rewriteValue } from './rewriting.ts'
import {
  type CheckpointQuery,
  type CheckpointSchema,
  type ThreadRow,
  threadRows,
  writeBlob,
  writeCheckpoint,
} from './rows.ts'
import { cutBytes, decode, decodeColumn, encode, encodeMsgpack, Unreadable } from './serialised.ts'
import { type ErasedThreads, partsOf, threadScanner } from './thread-scanner.ts'

/** The fields of a checkpoint that describe it and contain no words of messages. */
const structure = new Set(['v', 'id', 'ts', 'channel_versions', 'versions_seen', 'updated_channels'])
const withoutStructure = (checkpoint: unknown): JsonObject =>
  isPlainObject(checkpoint) ? Object.fromEntries(Object.entries(checkpoint).filter(([key]) => !structure.has(key))) : {}

/** Compares versions, which increase: numbers, or Python's strings of fixed width. */
function isBefore(one: string, other: string): boolean {
  const isNumber = /^\d+$/
  return isNumber.test(one) && isNumber.test(other) ? Number(one) < Number(other) : one < other
}
/** The first version and checkpoint of a namespace that contain erased data. */
interface Since {
  version?: string
  checkpoint?: string
}
interface ScannedThread extends FoundInThread {
  erasedThreads: ErasedThreads
  /** The thread's own wording of erased messages. */
  removedTexts: string[]
  /** Includes the thread's own wording. */
  words: TextSearch | undefined
  explained: ReadonlySet<number>
  /** The id of the empty message that replaces the last human message. */
  emptiedId: string
  lists: ReadonlySet<string>
  since: ReadonlyMap<string, Since>
}

/** Whether the error means that a row cannot be read or rewritten; all others are rethrown. */
function isOfRow(error: unknown): boolean {
  return error instanceof Unreadable || error instanceof RangeError
}

async function scan(
  ask: CheckpointQuery,
  shape: CheckpointSchema,
  thread: string,
  wanted: ThreadSearchTerms,
  lock: '' | 'FOR UPDATE',
): Promise<ScannedThread> {
  const reader = threadScanner(wanted)
  const lists = new Set(['messages', '__pregel_tasks'])
  const since = new Map<string, Since>()
  let isUnreadable = false
  let notSearched = 0
  const read = (row: ThreadRow): boolean => {
    if (row.table === 'checkpoints') {
      const { checkpoint, metadata } = row
      const parts = [withoutStructure(decodeColumn(checkpoint ?? 'null')), decodeColumn(metadata ?? 'null')]
      return parts.map((part) => reader.read(part)).includes(true)
    }
    const decoded = decode(row.type, row.blob)
    if (decoded.kind === 'tree' || decoded.kind === 'msgpack') {
      if (Array.isArray(decoded.tree) && row.table === 'checkpoint_blobs') lists.add(row.channel)
      if (decoded.kind === 'msgpack') notSearched += decoded.unpacked.opaque
      return reader.read(decoded.tree)
    }
    if (decoded.kind === 'nothing') return false
    if (!isUtf8Text(decoded.bytes)) notSearched++
    reader.readBytes(decoded.bytes)
    return reader.read(Buffer.from(decoded.bytes).toString('utf8'))
  }
  for await (const row of threadRows(ask, shape, thread, lock)) {
    try {
      if (!read(row)) continue
    } catch (error) {
      if (!isOfRow(error)) throw error
      isUnreadable = true
      notSearched++
      continue
    }
    if (wanted.keepsDerived) continue
    const known = since.get(row.ns) ?? {}
    if (row.version !== '' && (known.version === undefined || isBefore(row.version, known.version)))
      known.version = row.version
    if (row.checkpointId !== '' && (known.checkpoint === undefined || row.checkpointId < known.checkpoint))
      known.checkpoint = row.checkpointId
    since.set(row.ns, known)
  }
  const { words } = wanted
  const removedTexts = [...reader.removedTexts]
  // The wording is known only after the first pass.
  if (words && removedTexts.length > 0) {
    const again = { ...wanted, texts: [...wanted.texts, ...removedTexts], words: words.including(removedTexts) }
    return { ...(await scan(ask, shape, thread, again, '')), removedTexts }
  }
  const ids = new Set([...reader.runs.keys(), ...reader.together.flatMap((one) => [...one.ids])])
  const remaining = words ? await words.remaining([...ids].filter((id) => id !== '')) : new Set<string>()
  const theirs = [
    ...[...reader.runs].flatMap(([id, runs]) => (remaining.has(id) ? [...runs] : [])),
    // Nobody reads a run into two messages of remaining authors that follow one another.
    ...reader.together.flatMap((one) => (one.ids.isSubsetOf(remaining) ? [one.run] : [])),
  ]
  const explained = new Set([...theirs, ...(words && reader.runs.size > 0 ? await words.explained() : [])])
  const { erasedThreads, messages } = reader.settle(remaining, explained)
  const { standing } = reader
  const hasWords = [...reader.runs.values()].some((runs) => runs.values().some((run) => !explained.has(run)))
  return {
    erasedThreads,
    messages,
    lists,
    since,
    isUnreadable,
    notSearched,
    standing,
    hasWords,
    words,
    removedTexts,
    explained,
    emptiedId: randomUUID(),
  }
}

/** What would be erased in the thread; it only reads. */
export async function findInThread(
  ask: CheckpointQuery,
  shape: CheckpointSchema,
  thread: string,
  wanted: ThreadSearchTerms,
): Promise<FoundInThread> {
  const { messages, standing, hasWords, isUnreadable, notSearched } = await scan(ask, shape, thread, wanted, '')
  return { messages, standing, hasWords, isUnreadable, notSearched }
}

/** Rewrites one row; returns whether it changed. @throws Unreadable */
async function rewriteRow(
  ask: CheckpointQuery,
  shape: CheckpointSchema,
  row: ThreadRow,
  scanned: ScannedThread,
  onMention: (id: string) => void,
): Promise<boolean> {
  const { erasedThreads, lists } = scanned
  const since = scanned.since.get(row.ns)
  const isLater = (version: string | undefined): boolean => {
    if (!since) return false
    if (version !== undefined) return since.version !== undefined && !isBefore(version, since.version)
    return since.checkpoint === undefined || row.checkpointId >= since.checkpoint
  }
  const how = (version?: string): Rewriting => ({ erasedThreads, lists, isLater: isLater(version), onMention })
  if (row.table === 'checkpoints') {
    const checkpoint = decodeColumn(row.checkpoint ?? 'null')
    if (!isPlainObject(checkpoint)) throw new Unreadable('no checkpoint')
    const versions = isPlainObject(checkpoint.channel_versions) ? checkpoint.channel_versions : {}
    const { channel_values: inline, ...rest } = withoutStructure(checkpoint)
    let isChanged = false
    const take = (made: RewrittenValue): unknown => {
      isChanged ||= made.isChanged
      return made.value
    }
    const values = isPlainObject(inline)
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
      ...(isPlainObject(others) && others),
      ...(inline !== undefined && { channel_values: values }),
    }
    await writeCheckpoint(ask, shape, row, JSON.stringify(made), JSON.stringify(metadata))
    return true
  }
  const decoded = decode(row.type, row.blob)
  const isBlob = row.table === 'checkpoint_blobs'
  const isState = isBlob && lists.has(row.channel) && (!row.channel.startsWith('__') || row.channel === '__root__')
  const of = {
    ...how(isBlob && row.version !== '' ? row.version : undefined),
    ...(isState && { emptiedId: scanned.emptiedId }),
  }
  if (decoded.kind === 'nothing') return false
  if (decoded.kind === 'bytes') {
    // As a list, so that a text that is only an id becomes nothing.
    const cut = (text: string): string => [rewriteValue([text], '', of).value].flat().join('')
    const bytes = cutBytes(decoded.bytes, erasedThreads, cut)
    if (bytes) await writeBlob(ask, shape, row, bytes)
    return bytes !== undefined
  }
  const made = rewriteValue(decoded.tree, row.channel, of)
  if (!made.isChanged || !row.blob) return false
  const bytes =
    decoded.kind === 'msgpack'
      ? encodeMsgpack(decoded.unpacked, made.value, made.originOf)
      : await encode(made.value, row.blob)
  await writeBlob(ask, shape, row, bytes)
  return true
}

/** Every text of a row, whatever its meaning: bytes that are not text separate words. */
const rawTexts = ({ blob, checkpoint, metadata, channel, ns, task, taskPath }: ThreadRow): string[] => [
  ...(blob === null ? [] : [Buffer.from(blob.buffer, blob.byteOffset, blob.byteLength).toString('utf8')]),
  checkpoint ?? '',
  metadata ?? '',
  channel,
  ns,
  task,
  taskPath,
]
/** Runs that span several strings of a row, such as the tokens of a model. */
function runsAcrossRow({ table, blob, type, checkpoint, metadata }: ThreadRow, words: Pick<TextSearch, 'runsIn'>) {
  const runs = new Set<number>()
  try {
    const decoded = decode(type, blob)
    const isTree = decoded.kind === 'tree' || decoded.kind === 'msgpack'
    const values =
      table === 'checkpoints'
        ? [withoutStructure(decodeColumn(checkpoint ?? 'null')), decodeColumn(metadata ?? 'null')]
        : [isTree ? decoded.tree : null]
    for (const value of values)
      for (const { leaves, glues } of leavesTogether<MessageFacts | undefined>(value, undefined, partsOf))
        for (const glue of glues) {
          const texts = leaves.map(({ text }) => text)
          for (const run of runsAcross(texts, words.runsIn, glue).runs.keys()) runs.add(run)
        }
  } catch (error) {
    if (!isOfRow(error)) throw error
  }
  return runs
}
/**
 * How many rows contain erased words that no remaining author explains. Searches their bytes without decoding them, and their strings
 * together.
 */
async function rowsWithWords(
  ask: CheckpointQuery,
  shape: CheckpointSchema,
  thread: string,
  words: Pick<TextSearch, 'runsIn'>,
  explained: ReadonlySet<number>,
): Promise<number> {
  let count = 0
  for await (const row of threadRows(ask, shape, thread, ''))
    if (
      rawTexts(row).some((text) => words.runsIn(text).some(({ run }) => !explained.has(run))) ||
      runsAcrossRow(row, words)
        .values()
        .some((run) => !explained.has(run))
    )
      count++
  return count
}
/** Like {@link rowsWithWords}, for a thread that was not surveyed. */
export async function wordsInThread(
  ask: CheckpointQuery,
  shape: CheckpointSchema,
  thread: string,
  words: TextSearch,
): Promise<number> {
  if ((await rowsWithWords(ask, shape, thread, words, new Set())) === 0) return 0
  const { explained } = await scan(ask, shape, thread, { ids: [], texts: [], words }, '')
  return rowsWithWords(ask, shape, thread, words, explained)
}

const refused = (thread: string, cause?: unknown): Problem =>
  new Problem('conflict', {
    detail: `The thread ${JSON.stringify(thread)} contains a checkpoint that cannot be rewritten safely. The thread was not changed. An admin can delete the whole thread.`,
    // The id is in the message and in the log, but on no page: the person who may delete the thread needs to know which one it is.
    extensions: { thread },
    cause,
  })

/** Runs in the caller's transaction, with the thread locked. */
export async function rewriteThread(
  ask: CheckpointQuery,
  shape: CheckpointSchema,
  thread: string,
  wanted: ThreadSearchTerms,
): Promise<Rewritten> {
  const scanned = await scan(ask, shape, thread, wanted, 'FOR UPDATE')
  if (scanned.isUnreadable) throw refused(thread, new Unreadable('a row that cannot be read'))
  let rows = 0
  const mentions = new Set<string>()
  for await (const row of threadRows(ask, shape, thread, '')) {
    try {
      if (await rewriteRow(ask, shape, row, scanned, (id) => mentions.add(id))) rows++
    } catch (error) {
      if (!isOfRow(error)) throw error
      throw refused(thread, error)
    }
  }
  const { removedTexts, words, messages, notSearched, explained } = scanned
  if (words && (await rowsWithWords(ask, shape, thread, words, explained)) > 0)
    throw refused(thread, new Unreadable('words remain'))
  return { rows, messages: messages.length, removedTexts, mentions: [...mentions], notSearched }
}
