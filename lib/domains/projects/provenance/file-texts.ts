import type { Transaction } from '#lib/kernel/context.ts'
import type { ErasedWords } from '#lib/kernel/data-source.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { ObjectStore } from '#lib/stores/objects/objects.ts'
import { fileText, mayBeTextFile } from '#lib/text/file-text.ts'
import { runWeight, tokenize } from '#lib/text/words.ts'
import { Fingerprints, mergeSpans } from '../words/fingerprints.ts'
import { remainingFiles, type StoredFile } from './repository.ts'

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

/**
 * Of these files, those whose words an erasure does not compare, by their keys: no text, or too large. `words`: its words, which contain
 * those of the files that were read.
 */
export async function filesNotCompared(
  read: ReadObject,
  files: readonly StoredFile[],
  words: Pick<ErasedWords, 'runsIn'>,
): Promise<{ noText: string[]; unread: string[] }> {
  const found: { noText: string[]; unread: string[] } = { noText: [], unread: [] }
  for (const file of files) {
    if (!mayBeTextFile(file.mediaType)) found.noText.push(file.key)
    else if (!isComparable(file)) found.unread.push(file.key)
    else {
      const one = await read(file.key, maxFile)
      const text = one?.bytes && fileText(one.bytes, file.mediaType)
      if (!one?.bytes) found.unread.push(file.key)
      else if (text === undefined) found.noText.push(file.key)
      else if (!isAmong(words, text)) found.unread.push(file.key)
    }
  }
  return found
}
/** Characters of each sample of a file. */
const sampled = 4_000
/** Whether the words contain those of a sample of the text, from its beginning or its middle. */
const isAmong = (words: Pick<ErasedWords, 'runsIn'>, text: string): boolean => {
  const middle = Math.floor(text.length / 2)
  const samples = [text.slice(0, sampled), ...(text.length > sampled ? [text.slice(middle, middle + sampled)] : [])]
  return !samples.some(hasRun) || samples.some((one) => words.runsIn(one).length > 0)
}

/** Reads the files of erased sources. Keys are never used twice, so their texts are kept while they are few. */
export function fileReader(read: ReadObject) {
  const kept = new Map<string, string | undefined>()
  let size = 0
  let forgetting: NodeJS.Timeout | undefined
  function forgetLater(): void {
    clearTimeout(forgetting)
    forgetting = setTimeout(() => {
      kept.clear()
      size = 0
    }, keptFor).unref()
  }
  async function textOf(file: StoredFile): Promise<string | undefined> {
    forgetLater()
    if (kept.has(file.key)) return kept.get(file.key)
    const one = await read(file.key, maxFile)
    const text = one?.bytes && fileText(one.bytes, file.mediaType)
    kept.set(file.key, text)
    size += text?.length ?? 0
    for (const [key, oldest] of kept) {
      if (size <= maxKept) break
      kept.delete(key)
      size -= oldest?.length ?? 0
    }
    return text
  }

  /** The runs of the files of persons that remain in a project; undefined if they are too many to be read. */
  async function livingWords(
    tx: Transaction,
    project: string,
    { erased, now }: { erased: ReadonlySet<string>; now: Date },
  ): Promise<Fingerprints | undefined> {
    const rows = await remainingFiles(tx, { project, now, max: maxLiving + erased.size + 1 })
    const files = rows.flatMap(({ source, file }) => (erased.has(source) || !isComparable(file) ? [] : [file]))
    if (files.length > maxLiving || files.reduce((sum, { bytes }) => sum + bytes, 0) > maxTogether) return undefined
    const words = new Fingerprints()
    for (const file of files) words.add((await textOf(file)) ?? '')
    return words
  }

  /** Returns a reader for one pass over the sources of an erasure, in their order. `erasedIds`: the ids of all of them. */
  return (tx: Transaction, now: Date, erasedIds: () => Promise<ReadonlySet<string>>) => {
    const living = new Map<string, Fingerprints | undefined>()
    let left = maxTogether
    /**
     * The texts of a source's files, without what the files of other people in the project also say: those may be a form, or the
     * conditions of a contract. None if the store does not answer: the receipt counts what was not compared.
     */
    return async (project: string, files: readonly StoredFile[]): Promise<string[]> => {
      const texts: string[] = []
      for (const file of files) {
        if (!isComparable(file) || file.bytes > left) continue
        left -= file.bytes
        try {
          const text = await textOf(file)
          if (text === undefined || !hasRun(text)) continue
          if (!living.has(project))
            living.set(project, await livingWords(tx, project, { erased: await erasedIds(), now }))
          const others = living.get(project)
          if (others) texts.push(...without(text, others))
        } catch (error) {
          if (!Problem.is(error, 'unavailable')) throw error
          return texts
        }
      }
      return texts
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
