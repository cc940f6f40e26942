import { createHash } from 'node:crypto'
import { memoize, memoizeByObject } from '#lib/kernel/concurrency.ts'
import { type CacheEntry, type CachePart, type CacheStore, ownPrefix } from '#lib/stores/cache/cache.ts'
import { inOrderOfNames } from '#lib/stores/cache/names-in-order.ts'
import { searchStringsOf } from '#lib/stores/cache/search-strings.ts'
import { technical } from '#lib/text/json.ts'
import { isInKeySpace, type KeySpace, mayEraseById } from '../key-space.ts'
import { isOfOthers, type Ownership, type OwnershipReader, type Readable, readable } from '../values/readable.ts'
import {
  cutLeaves,
  type Naming,
  parsedValue,
  type ValueDecider,
  type ValueDecision,
  ValuePart,
} from '../values/value-decider.ts'
import {
  type Chosen,
  followed,
  isDistinctiveKey,
  isOurKey,
  isRecordField,
  keyingIds,
  mayBeOurKey,
  mayDeleteKey,
  uniqueInProject,
} from './rules.ts'

/** What to search for in a cache, and the judge of words. */
export interface CacheSearch {
  ids: Iterable<string>
  /** A list, because one search reads it several times. */
  chosen: readonly Chosen[]
  /** Projects and conversations: entries with one of these ids in the name or a value are searched for words. */
  anchors: Iterable<string>
  /** Remaining conversations: a string entry with one of these ids in its name is deleted. */
  near: Iterable<string>
  names: ReadonlyMap<string, Naming>
  /** Entries found in the index by erased ids (`indexed`) or by ids of conversations that contained them (`around`). */
  indexed: ReadonlySet<string>
  around: ReadonlySet<string>
  /** Entries in it are searched for words. */
  space: KeySpace
  wordDecider: ValueDecider | undefined
  /** Whose entry it is, by the ids in its name. */
  ownershipOf: OwnershipReader
  /**
   * Ids of the projects and conversations, also those that the application chose: a cached value with one of them in its name is deleted
   * whatever it contains, because it may paraphrase the erased source.
   */
  keys: Iterable<string>
  /** Whether an entry with one of these ids in its name is a cached value. */
  isCached(name: string): Promise<boolean>
  /** Whether a value is the result of an earlier attempt of this erasure. */
  isOwnResult?(name: string, value: Buffer): boolean
}
export type CacheMatchReason = 'pointer' | 'index' | 'text' | 'group'
export interface CacheChange {
  part: CachePart
  /** Null: remove the part. */
  to: Buffer | null
  /** Only this item of a list, not every equal one. */
  at?: number
  /** The new name of the field of a hash. */
  field?: Buffer
}
/** The decision about one entry. `changes`: only these parts; undefined: the whole entry. */
export interface CacheFinding extends Pick<CacheEntry, 'name' | 'type'> {
  found: CacheMatchReason
  verdict: 'deleted' | 'cut' | 'retained'
  changes?: CacheChange[]
  /** The whole entry, because of what it contained when it was read. It remains if it has other content now. */
  isByContent?: true
  /** Nothing in its name leads to the project. The entry remains if a pointer of another project names it. */
  isUnnamed?: boolean
}
/** Labels of values that cannot be searched, and whether some entries were outside the search. */
export interface UnsearchedEntries {
  binary: Set<string>
  isOutside: boolean
  /** Labels of entries with an id of the project or conversation in their names that are not cached values, or may belong to others. */
  lasting: Set<string>
  /** Labels of entries with an erased id that belong to others, or that the organization may not claim. */
  owned: Set<string>
}
export const noneUnsearched = (): UnsearchedEntries => ({
  binary: new Set(),
  isOutside: false,
  lasting: new Set(),
  owned: new Set(),
})

/** A hash of a name or value for plans and notes, because the name may be personal data. */
export const labelOf = (...texts: (string | Buffer)[]): string => {
  const hash = createHash('sha256')
  for (const [n, text] of texts.entries())
    hash.update(n === 0 ? text : Buffer.concat([Buffer.of(0), Buffer.from(text)]))
  return hash.digest('base64url').slice(0, 22)
}

const isOwn = (name: string): boolean => name.startsWith(ownPrefix)
const whole = ({ name, type }: CacheEntry, found: CacheMatchReason): CacheFinding => ({
  name,
  type,
  found,
  verdict: 'deleted',
})

async function decidedByWords(
  { wordDecider, isOwnResult }: CacheSearch,
  part: CachePart,
  value: Readable,
  name: string,
  naming: Naming | undefined,
  ownership: () => Promise<Ownership>,
): Promise<ValueDecision> {
  if (!wordDecider || part.texts.some((text) => isOwnResult?.(name, text))) return { decision: 'untouched' }
  return wordDecider.decide(value, naming, ownership)
}
/**
 * The fields of a stream's entry, which follow each other in its texts. An entry may repeat the name of a field: a new record begins there, as if
 * it was the next entry.
 */
export function recordsOfStream(texts: readonly Buffer[]): Record<string, string>[] {
  const records: Map<string, string>[] = [new Map()]
  for (let at = 0; at < texts.length; at += 2) {
    const name = texts[at]?.toString() ?? ''
    if (records.at(-1)?.has(name)) records.push(new Map())
    records.at(-1)?.set(name, texts[at + 1]?.toString() ?? '')
  }
  return records.map((fields) => Object.fromEntries(fields))
}
/** The fields of a stream's entry as they are read together with those of its neighbors. */
export const partsOfStream = (texts: readonly Buffer[], n: number): ValuePart[] =>
  recordsOfStream(texts).map((fields) => {
    const values = Object.entries(fields).map(([name, value]) => [name, parsedValue(value)])
    return new ValuePart(n, Object.fromEntries(values))
  })
/** What is read together with the neighbors of a part. */
function partsToRead({ type }: Pick<CacheEntry, 'type'>, { texts }: CachePart, n: number): ValuePart[] {
  if (type === 'stream') return partsOfStream(texts, n)
  const { form, text } = readableOf(texts)
  return [new ValuePart(n, form === 'binary' ? '' : parsedValue(text))]
}
const hasWords = (value: unknown): boolean => {
  if (typeof value === 'string') return /[\p{L}\p{N}]/u.test(value)
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).some(([key, one]) => !technical.test(key) && hasWords(one))
}
/**
 * Changes of parts with words that no single part contains, such as a list of tokens or a stream of deltas. `before`: the last parts of
 * the same entry that were read before.
 */
async function changesAcross(
  { wordDecider }: CacheSearch,
  entry: CacheEntry,
  before: readonly CachePart[],
  ownership: () => Promise<Ownership>,
): Promise<CacheChange[]> {
  const parts = [...before, ...entry.parts]
  if (!wordDecider || !entry.isWhole) return []
  const read = parts.flatMap((part, n) => partsToRead(entry, part, n))
  if (read.length < 2) return []
  const changed = cutLeaves(await wordDecider.acrossParts(read, ownership))
  // The fields of a hash may be numbered, and its order by chance.
  const byName = entry.type === 'hash' ? inOrderOfNames(read, ({ n }) => parts[n]?.id.toString() ?? '') : undefined
  if (byName) for (const n of cutLeaves(await wordDecider.acrossParts(byName, ownership))) changed.add(n)
  return [...changed].flatMap((n): CacheChange[] => {
    const part = parts[n]
    if (!part) return []
    // Only a stream has several readings of a part, and its entries are not cut.
    const { value } = read[n] ?? {}
    const canCut = entry.type !== 'stream' && readableOf(part.texts).form === 'text' && hasWords(value)
    const to = canCut ? Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)) : null
    return [{ part, to, ...(part.at !== undefined && { at: part.at }) }]
  })
}

/** Decides about the parts of an entry by their words. */
async function changesByWords(
  sought: CacheSearch,
  entry: CacheEntry,
  values: readonly Readable[],
  naming: Naming | undefined,
  known: ReadonlyMap<CachePart, CacheChange>,
  unsearched: UnsearchedEntries,
  ownership: () => Promise<Ownership>,
  before: readonly CachePart[],
): Promise<{ changes: CacheChange[]; isRetained: boolean; isCut: boolean }> {
  const changes = [...known.values()]
  let [isRetained, isCut] = [false, changes.some(({ to }) => to !== null)]
  for (const [n, part] of entry.parts.entries()) {
    // The names of a stream's fields are no words of the entry.
    const value = entry.type === 'stream' ? readableOf(part.texts.filter((_, at) => at % 2 === 1)) : values[n]
    if (known.has(part) || !value || (isOwn(entry.name) && part.id.toString() === 'about')) continue
    const field = isOwn(entry.name) ? '' : fieldsOf(entry, part)
    const isNamedId = naming !== undefined && mayBeOurKey(value.text)
    if (isNamedId) continue
    const isNaming =
      field !== '' && (await sought.wordDecider?.hasErasedWords({ form: 'text', text: field }, ownership)) === true
    // The value may be somebody else's: only the name of the field loses the name of the erased person.
    const renamed =
      isNaming && entry.type === 'hash' && entry.isWhole
        ? await sought.wordDecider?.withoutNames(field, ownership)
        : undefined
    const decided: ValueDecision =
      isNaming && renamed === undefined
        ? { decision: 'deleted' }
        : await decidedByWords(sought, part, value, entry.name, naming, ownership)
    if (decided.decision === 'retained') isRetained = true
    if (decided.decision === 'deleted') changes.push({ part, to: null })
    else if (decided.decision === 'cut' || renamed !== undefined) {
      const canCut = entry.isWhole && entry.type !== 'stream' && entry.type !== 'other'
      isCut ||= canCut
      const to = decided.decision === 'cut' ? Buffer.from(decided.text) : (part.texts[0] ?? Buffer.alloc(0))
      changes.push({ part, to: canCut ? to : null, ...(renamed !== undefined && { field: Buffer.from(renamed) }) })
    }
    if (value.form === 'binary' && decided.decision !== 'deleted' && (await ownership()) !== 'elsewhere')
      unsearched.binary.add(labelOf(entry.name, part.id))
  }
  for (const change of await changesAcross(sought, entry, before, ownership)) {
    const at = changes.findIndex(({ part }) => part === change.part)
    isCut ||= change.to !== null
    // A part that was also cut by its own words is removed.
    if (at >= 0) changes[at] = { part: change.part, to: null }
    else changes.push(change)
  }
  return { changes, isRetained, isCut }
}

/** The number of parts of the portion before that are read with a portion: more than verification reads. */
const maxBefore = 100

/** What both deciders, of entries and of objects, look for: ids that we generated, and distinctive ids that clients chose, with their anchors. */
export function searchedIds({ ids, chosen, anchors }: Pick<CacheSearch, 'ids' | 'chosen' | 'anchors'>) {
  const all = [...ids]
  const distinctiveIds = chosen.filter(({ id }) => isDistinctiveKey(id))
  return {
    all,
    distinctiveIds,
    ids: searchStringsOf(all),
    chosen: searchStringsOf(distinctiveIds.map(({ id }) => id)),
    anchors: searchStringsOf([...anchors, ...distinctiveIds.flatMap((one) => one.anchors)]),
    erased: new Set([...all, ...chosen.map(({ id }) => id)]),
  }
}

/** There may be 100,000 ids, and every entry that is deleted for its content is judged again. */
const preparedSearch = memoizeByObject((sought: CacheSearch) => {
  const { all, distinctiveIds, ...searched } = searchedIds(sought)
  // An id that looks generated, or is unique only in its project, may belong to others: then even our own entries need an anchor.
  const inProject = uniqueInProject(all)
  return {
    ...searched,
    near: searchStringsOf([...sought.near].filter((id) => isOurKey('conversation', id))),
    keys: searchStringsOf(keyingIds(sought.keys)),
    clientChosenIds: distinctiveIds.length,
    needsAnchor: distinctiveIds.some(({ id }) => mayBeOurKey(id) || inProject.has(id)),
    /** Ids that may identify a record. */
    identifying: new Set([...all, ...distinctiveIds.map(({ id }) => id)]),
  }
})

/** Decides about entries one by one. What the search contains may not change afterwards. */
function cacheDecider(sought: CacheSearch) {
  const { ids, chosen, anchors, near, keys, clientChosenIds, needsAnchor, identifying, erased } = preparedSearch(sought)
  const { names, wordDecider, space } = sought
  const isPlain = (name: string) => isOwn(name) && !needsAnchor
  const unsearched = noneUnsearched()
  const rules = {
    space,
    isNamed: (name: string): boolean => ids.occursIn(name) || anchors.occursIn(name),
    ownershipOf: sought.ownershipOf,
  }
  const soughtIds = {
    erased,
    namesErased: (text: string): boolean => ids.occursIn(text) || chosen.occursIn(text),
  }
  /** The end of the portion that was read last, because words may continue in the next portion. */
  let previous: { name: string; parts: readonly CachePart[] } = { name: '', parts: [] }

  /** `isLoose`: only an id that a client chose relates the entry to the erased source. */
  async function decide(entry: CacheEntry): Promise<(CacheFinding & { isClientChosen?: boolean }) | undefined> {
    const { name, type, parts } = entry
    const before = previous.name === name ? previous.parts : []
    previous = { name, parts: parts.slice(-maxBefore) }
    if (!mayDeleteKey(name, ownPrefix)) return undefined
    const isNear = sought.around.has(name) || (near.occursIn(name) && type === 'string')
    // Data derived from the conversation may contain any part of it: decide as if provenance named it.
    const naming = names.get(name) ?? (isNear && wordDecider ? { named: [], remaining: [] } : undefined)
    const by: CacheMatchReason = names.has(name) ? 'pointer' : isNear ? 'group' : 'text'
    if (sought.indexed.has(name)) return whole(entry, 'index')
    const mayErase = memoize(async () => names.has(name) || isOwn(name) || mayEraseById(rules, name))
    const isUnnamed = naming === undefined && !isOwn(name) && !rules.isNamed(name)
    if (ids.occursIn(name)) {
      if (await mayErase()) return whole(entry, by)
      unsearched.owned.add(labelOf(name))
    }
    if (!isOwn(name) && !names.has(name) && keys.occursIn(name)) {
      const owner = await sought.ownershipOf(name)
      if (owner === 'own' && (await sought.isCached(name))) return whole(entry, 'group')
      if (!isOfOthers(owner) && !isNear) unsearched.lasting.add(labelOf(name))
    }
    const values = parts.map(({ texts }) => readableOf(texts))
    const fields = type === 'hash' ? parts.map(({ id }) => id.toString()) : []
    const contains = (searchStrings: typeof ids) =>
      searchStrings.occursIn(name) || [...fields, ...values.map(({ text }) => text)].some(searchStrings.occursIn)
    // An id in a value proves nothing about an entry that nobody owns and the organization may not claim.
    const isNaming = !anchors.isEmpty && contains(anchors)
    const isAnchored =
      isNaming && (anchors.occursIn(name) || (await mayErase()) || isOfOthers(await sought.ownershipOf(name)))
    if (isNaming && !isAnchored && contains(chosen)) unsearched.owned.add(labelOf(name))
    const mayFollow = isAnchored || isPlain(name)
    if (mayFollow && chosen.occursIn(name)) {
      if (await mayErase()) return { ...whole(entry, by), isClientChosen: true }
      unsearched.owned.add(labelOf(name))
    }
    if (isNear && !wordDecider) return whole(entry, by)

    const ownership = memoize(async (): Promise<Ownership> => {
      if (names.has(name) || isOwn(name)) return 'own'
      const found = await sought.ownershipOf(name)
      return found === 'nobody' && isAnchored ? 'own' : found
    })
    /** What remains of a part that consists of records of several messages. */
    const withoutRecords = async (part: CachePart, field: string): Promise<string | undefined> => {
      if (!entry.isWhole || isOwn(name) || type === 'stream' || type === 'other' || !wordDecider) return undefined
      const isNamed =
        soughtIds.namesErased(field) || (await wordDecider.hasErasedWords({ form: 'text', text: field }, ownership))
      return isNamed ? undefined : wordDecider.withoutRecords(readableOf(part.texts), soughtIds, ownership)
    }
    const known = new Map<CachePart, CacheChange>()
    let isClientChosen = false
    for (const [n, part] of parts.entries()) {
      const text = values[n]?.text ?? ''
      const field = fields[n] ?? ''
      const isSure = ids.occursIn(text) || ids.occursIn(field)
      const isLikely = mayFollow && (chosen.occursIn(text) || chosen.occursIn(field))
      if (!isSure && !isLikely) continue
      if (!(await mayErase())) {
        unsearched.owned.add(labelOf(name))
        continue
      }
      isClientChosen ||= !isSure
      const isRecord = type === 'hash' && identifying.has(text) && isRecordField(field, text, text)
      const rest = isRecord ? undefined : await withoutRecords(part, field)
      if (rest === undefined && (type === 'string' || type === 'other' || isOwn(name) || isRecord))
        return { ...whole(entry, by), isByContent: true, isUnnamed, ...(isClientChosen && { isClientChosen }) }
      known.set(part, { part, to: rest === undefined ? null : Buffer.from(rest) })
    }
    const isInside = naming !== undefined || isAnchored || isOwn(name) || isInKeySpace(space, name)
    if (!isInside) unsearched.isOutside = true
    if (isInside && wordDecider && (await wordDecider.hasErasedWords({ form: 'text', text: name }, ownership)))
      return { ...whole(entry, by), isUnnamed }
    const { changes, isRetained, isCut } =
      isInside && wordDecider
        ? await changesByWords(sought, entry, values, naming, known, unsearched, ownership, before)
        : { changes: [...known.values()], isRetained: false, isCut: known.values().some(({ to }) => to !== null) }
    if (changes.length === 0) return isRetained ? { name, type, found: by, verdict: 'retained', isUnnamed } : undefined
    // A piece of a long string, or a value of an unknown type, cannot be compared and changed: delete the entry.
    const isOneValue = isOwn(name) || type === 'other' || !entry.isWhole
    if (isOneValue && changes.some(({ to }) => to === null))
      return { ...whole(entry, by), isByContent: true, isUnnamed }
    const isAll = type === 'string' && changes.some(({ to }) => to === null)
    const verdict = isAll || (!isCut && changes.length === parts.length) ? 'deleted' : 'cut'
    return {
      name,
      type,
      found: by,
      verdict,
      changes,
      isUnnamed,
      ...(isClientChosen && known.size > 0 && { isClientChosen }),
    }
  }
  return { decide, unsearched, clientChosenIds }
}
/** The names of the fields of a part of a hash or stream. */
const fieldsOf = ({ type }: CacheEntry, { id, texts }: CachePart): string =>
  type === 'hash'
    ? id.toString()
    : type === 'stream'
      ? texts.flatMap((text, at) => (at % 2 === 0 ? [text.toString()] : [])).join(' ')
      : ''
const readableOf = (texts: readonly Buffer[]): Readable => {
  const [first = Buffer.alloc(0), ...more] = texts
  if (more.length === 0) return readable(first)
  const all = texts.map((text) => readable(text))
  const form = all.some((one) => one.form === 'binary') ? 'binary' : 'packed'
  return { form, text: all.map(({ text }) => text).join('\n') }
}

/** Reads the named entries, or all entries, and passes each finding to `visit`. */
export async function scanCache(
  cache: Pick<CacheStore, 'read'>,
  sought: CacheSearch,
  visit: (finding: CacheFinding) => Promise<void>,
  names?: readonly string[],
): Promise<UnsearchedEntries> {
  const { decide, unsearched, clientChosenIds } = cacheDecider(sought)
  const uncertain: CacheFinding[] = []
  await cache.read(async (entry) => {
    const finding = await decide(entry)
    if (!finding) return
    const { isClientChosen = false, ...rest } = finding
    if (isClientChosen) uncertain.push(rest)
    else await visit(rest)
  }, names)
  // If an id occurs in too many entries, only our own entries are changed.
  const retained = new Set(
    followed(
      uncertain.map(({ name }) => name),
      clientChosenIds,
      ownPrefix,
    ),
  )
  for (const finding of uncertain) if (retained.has(finding.name)) await visit(finding)
  return unsearched
}
