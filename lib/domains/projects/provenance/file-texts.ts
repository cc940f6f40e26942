import type { Transaction } from '#lib/kernel/context.ts'
import type { ErasedWords } from '#lib/kernel/data-source.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { storeRefusalOf } from '#lib/kernel/store-refusal.ts'
import type { ObjectStore } from '#lib/stores/objects/objects.ts'
import { fileText, mayBeTextFile } from '#lib/text/file-text.ts'
import { runWeight, tokenize } from '#lib/text/words.ts'
import { Fingerprints, mergeSpans } from '../words/fingerprints.ts'
import { remainingFiles, type StoredFile } from './repository.ts'
import type { FileWords } from './sources.ts'

/** Maximum size of a file whose words are compared, and of all files of an erasure together. */
export const maxFile = 2 * 1024 * 1024
const maxTogether = 12 * 1024 * 1024
/** Files of other people in a project that are compared with the erased ones. */
const maxLiving = 200
/** Characters of texts in memory. Several data sources read the files of one erasure. */
const maxKept = 16 * 1024 * 1024
/** Milliseconds after the last reading until the texts are dropped. */
const keptFor = 300_000

/** Reads a version of an object. Throws `unavailable`. */
type ReadObject = Pick<ObjectStore, 'read'>['read']

/** Whether a file has words to compare: text, and not too large. The other ones are counted in the receipt. */
const isComparable = ({ mediaType, bytes }: Omit<StoredFile, 'key'>): boolean =>
  bytes <= maxFile && mayBeTextFile(mediaType)
const hasRun = (text: string): boolean => tokenize(text).reduce((sum, { weight }) => sum + weight, 0) >= runWeight

/** Files of an erasure, by the result of comparing their words. All are keys. */
interface ComparedFiles {
  /** Without text. */
  noText: string[]
  /** Whose words were not compared. */
  unread: string[]
  /** Read now, and not among the words of the run: without text, or too short to be recognized. */
  settled: { binary: string[]; short: string[] }
  /** The store does not have them. An attempt that stopped may have deleted them. */
  missing: string[]
}

/**
 * Of these files, those whose words an erasure does not compare: no text, not among the words of the run, or unknown. Files that the plan
 * did not read are read now, to tell short and binary ones from the others. No file is needed: if the store does not answer, all others
 * count as not compared.
 */
export async function filesNotCompared(
  read: ReadObject,
  files: readonly StoredFile[],
  words: Pick<ErasedWords, 'hasFile'>,
): Promise<ComparedFiles> {
  const found: ComparedFiles = { noText: [], unread: [], settled: { binary: [], short: [] }, missing: [] }
  const textOf = fileTexts(read)
  let left = maxTogether
  let isAway = false
  for (const file of files) {
    if (!mayBeTextFile(file.mediaType)) {
      found.noText.push(file.key)
      continue
    }
    if (words.hasFile?.(file.key)) continue
    const isRead: boolean = !isAway && isComparable(file) && file.bytes <= left
    if (isRead) left -= file.bytes
    const text: FileText = isRead ? await textOf(file) : 'unread'
    isAway ||= text === 'failed'
    if (text === 'missing') found.missing.push(file.key)
    else if (text === 'binary') {
      found.noText.push(file.key)
      found.settled.binary.push(file.key)
    } else if (typeof text === 'string' || hasRun(text.text)) found.unread.push(file.key)
    else found.settled.short.push(file.key)
  }
  return found
}

/** What is known of a file. `unread`: the store has it, but does not give it. `failed`: the store does not answer. */
type FileText = { text: string } | 'binary' | 'missing' | 'unread' | 'failed'
const fileTexts =
  (read: ReadObject) =>
  async (file: StoredFile): Promise<FileText> => {
    try {
      const one = await read(file.key, maxFile)
      if (!one) return 'missing'
      if (!one.bytes) return 'unread'
      const text = fileText(one.bytes, file.mediaType)
      return text === undefined ? 'binary' : { text }
    } catch (error) {
      // Whatever is wrong with one file, an erasure does not fail because of it.
      return storeRefusalOf(error) === undefined && Problem.is(error, 'unavailable') ? 'failed' : 'unread'
    }
  }

/** Reads the files of erased sources. Keys are never used twice, so their texts are kept while they are few. */
export function fileReader(read: ReadObject) {
  const kept = new Map<string, FileText>()
  const readText = fileTexts(read)
  let size = 0
  let forgetting: NodeJS.Timeout | undefined
  function forgetLater(): void {
    clearTimeout(forgetting)
    forgetting = setTimeout(() => {
      kept.clear()
      size = 0
    }, keptFor).unref()
  }
  const lengthOf = (text: FileText | undefined): number => (typeof text === 'object' ? text.text.length : 0)
  async function textOf(file: StoredFile): Promise<FileText> {
    forgetLater()
    const known = kept.get(file.key)
    if (known !== undefined) return known
    const text = await readText(file)
    if (text === 'failed') return text
    kept.set(file.key, text)
    size += lengthOf(text)
    for (const [key, oldest] of kept) {
      if (size <= maxKept) break
      kept.delete(key)
      size -= lengthOf(oldest)
    }
    return text
  }

  /** The runs of the files of persons that remain in a project. `unread`: they are too many, or one of them cannot be read. */
  async function livingWords(
    tx: Transaction,
    project: string,
    { erased, now }: { erased: ReadonlySet<string>; now: Date },
  ): Promise<Fingerprints | 'unread' | 'failed'> {
    const rows = await remainingFiles(tx, { project, now, erased: [...erased], bytes: maxFile, max: maxLiving + 1 })
    const files = rows.map(({ file }) => file)
    if (files.length > maxLiving || files.reduce((sum, { bytes }) => sum + bytes, 0) > maxTogether) return 'unread'
    const words = new Fingerprints()
    for (const file of files) {
      const text = await textOf(file)
      if (text === 'unread' || text === 'failed') return text
      if (typeof text === 'object') words.add(text.text)
    }
    return words
  }

  /** Returns a reader for one pass over the sources of an erasure, in their order. `erasedIds`: the ids of all of them. */
  return (tx: Transaction, now: Date, erasedIds: () => Promise<ReadonlySet<string>>) => {
    const living = new Map<string, Fingerprints | 'unread' | 'failed'>()
    let left = maxTogether
    /** Each further request would wait for the store again. */
    let isAway = false
    /**
     * The texts of a source's files, without what the files of other people in the project also say: those may be a form, or the
     * conditions of a contract. Files that are not returned are not compared, and the receipt counts them.
     */
    return async (project: string, files: readonly StoredFile[]): Promise<FileWords[]> => {
      const found: FileWords[] = []
      for (const file of files) {
        if (isAway || !isComparable(file) || file.bytes > left) continue
        left -= file.bytes
        const read = await textOf(file)
        isAway = read === 'failed'
        if (typeof read === 'string' || !hasRun(read.text)) continue
        if (!living.has(project))
          living.set(project, await livingWords(tx, project, { erased: await erasedIds(), now }))
        const others = living.get(project)
        isAway = others === 'failed'
        if (others instanceof Fingerprints) found.push({ key: file.key, parts: without(read.text, others) })
      }
      return found
    }
  }
}

/** The parts of a text around the runs that others also wrote, if they have runs of their own. */
function without(text: string, others: Fingerprints): string[] {
  const parts: string[] = []
  let from = 0
  for (const { start, end } of mergeSpans(others.runsIn(text).map(({ start, end }) => ({ start, end })))) {
    parts.push(text.slice(from, start))
    from = Math.max(from, end)
  }
  return [...parts, text.slice(from)].filter(hasRun)
}
