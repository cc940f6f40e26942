import { matcherOf } from './patterns.ts'
import type { RedisScan } from './redis-scan.ts'
import { existingScript } from './redis-scripts.ts'
import { asLatin, nameFrom } from './redis-texts.ts'
import { searchStringsOf } from './search-strings.ts'

/**
 * The prefix of indexes. An entry is a hash with its `value` and the ids that it is `about` (JSON), so that it can be found even after
 * Redis evicted the index. The index of an id is a sorted set of names, each with its expiry in seconds as the score; its TTL is that of
 * its longest entry.
 */
export const indexPrefix = 'kp:about:'
/** The prefix of rate limit counters (lib/access), which are not entries. */
const limitPrefix = 'kp:limit'
/** The prefix of records of what an erasure did, by run: hashes of labels, without names and values. */
export const notesPrefix = 'kp:erased:'
/** Up to this many patterns are sent to the server one after the other; for more, all names are read once. */
const fewPatterns = 4

/** Whether a name belongs to an entry, not to a rate limit counter or our bookkeeping. */
export const isEntry = (name: string): boolean =>
  !name.startsWith(indexPrefix) && !name.startsWith(limitPrefix) && !name.startsWith(notesPrefix)

/** Names in an index that exist. `clean` removes the others from it. */
export const existingNames = (scan: RedisScan, index: string, how: 'read' | 'clean'): Promise<string[]> =>
  scan.send('EVAL', existingScript, '1', index, how)

/** Names of entries for which `isWanted` returns true, sorted. `match`: the server's filter, applied before ours. */
export async function entriesWhere(
  scan: RedisScan,
  isWanted: (name: string) => boolean,
  match?: string,
): Promise<string[]> {
  const found = new Set<string>()
  for await (const page of scan.names(match))
    for (const name of page.map(nameFrom)) if (isEntry(name) && isWanted(name)) found.add(name)
  return [...found].sort()
}

/** Names of entries that match one of the patterns. */
export async function entriesMatching(scan: RedisScan, patterns: readonly string[]): Promise<string[]> {
  const matches = matcherOf(patterns)
  const found: string[] = []
  // The server compares bytes, so patterns with `?` or non-ASCII characters are compared only here.
  const areAsked = patterns.length <= fewPatterns && patterns.every((one) => /^[ -~]*$/.test(one))
  const isSafe = areAsked && patterns.every((one) => !one.includes('?') && !/(^|[^\\])[[\]]/.test(one))
  for (const match of isSafe ? patterns : [undefined]) found.push(...(await entriesWhere(scan, matches, match)))
  return found
}

/** Names of entries whose name, value or index contains one of the strings, sorted. */
export async function namesContaining(scan: RedisScan, strings: readonly string[]): Promise<string[]> {
  const searchStrings = searchStringsOf(strings.map(asLatin))
  const found = new Set<string>()
  if (searchStrings.isEmpty) return []
  for await (const page of scan.names()) {
    const names = page.filter((name) => !name.startsWith(limitPrefix) && !name.startsWith(notesPrefix))
    const entries = names.filter((name) => !name.startsWith(indexPrefix))
    for (const name of await scan.holding(entries, searchStrings)) found.add(nameFrom(name))
    // An index counts if its id matches and a name in it exists. Existing entries are found themselves.
    for (const index of names.filter((name) => name.startsWith(indexPrefix))) {
      const existing = await existingNames(scan, nameFrom(index), 'clean')
      if (existing.length > 0 && searchStrings.occursIn(index)) found.add(nameFrom(index))
    }
  }
  return [...found].sort()
}
