import { leavesTogether, type PieceSpan, runsAcross, type StringLeaf, withoutSpans } from '#lib/stores/virtual-texts.ts'
import { freeNames } from '#lib/text/layer.ts'
import { isConstructed, isPlainObject, type JsonObject, type MessageFacts, messageIn } from './messages.ts'
import { PackedBytes, PackedExtension, PackedNumber } from './msgpack-values.ts'
import { isDistinctiveText, isGenerated, placeholder, withoutId, withoutRuns } from './search-strings.ts'
import { Unreadable } from './serialised.ts'
import { type ErasedThreads, isErasedPair, isErasedWith, isHolding, isRemaining, partsOf } from './thread-scanner.ts'

/** How one value of a thread is rewritten. */
export interface Rewriting {
  erasedThreads: ErasedThreads
  /** Channels and keys that contain lists: an erased value becomes an empty list there, which every reducer accepts. */
  lists: ReadonlySet<string>
  /** Whether the value was written after the erased message, so that a summary in it may be derived from that message. */
  isLater: boolean
  /**
   * For a channel with state. If a list of messages loses its last human message, an empty one remains under this id: nodes read the
   * last human message when they resume, and reducers need ids.
   */
  emptiedId?: string
  /** Called with the id of each remaining message that contains erased words. */
  onMention?(id: string): void
}
const deleted = Symbol('gone')
/** Word stems that mark a derived value anywhere in a name. */
const stems =
  /summar|recap(?!tcha)|digest|synopsis|zusammenfass|kurzfass|samenvatt|riassunt|résum|resumé|摘要|[总總][结結]|小[结結]|概[要述]|要約|요약/i
/** Words that mark a derived value only as separate words, because they are part of others (`registry`, `resume`). */
const words = /(?<!\p{L})(abstract|gist|outline|tl[;_-]?dr|res[uú]men|resumo)(e?s)?(?!\p{L})/iu
/** Whether applications use this name for data derived from messages, such as summaries. */
export function isDerived(name: string): boolean {
  const parted = name.normalize('NFC').replace(/(\p{Ll})(\p{Lu})/gu, '$1_$2')
  return stems.test(parted) || words.test(parted)
}
/** The fields of a derived object that contain words. */
const fields = new Set(['text', 'content', 'body', 'value'])

function cut(text: string, { forms, ids, runsIn }: ErasedThreads): string {
  let rest = text
  for (const form of forms) rest = rest.replaceAll(form, placeholder)
  rest = withoutRuns(rest, runsIn) ?? placeholder
  for (const id of ids) if (isDistinctiveText(id)) rest = withoutId(rest, id)
  return isJson(text) && !isJson(rest) ? JSON.stringify(placeholder) : rest
}
function isJson(text: string): boolean {
  if (!/^\s*[[{"]/.test(text)) return false
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

export interface RewrittenValue {
  value: unknown
  isChanged: boolean
  /** The object from which a new one was made. Unchanged objects are identical to those before. */
  originOf(made: object): object | undefined
}

/** One rewriting of a value. `progress` is shared by all its parts. */
interface Walk {
  how: Rewriting
  erasedThreads: ErasedThreads
  /** The object from which each new one was made. */
  origins: WeakMap<object, object>
  progress: { isChanged: boolean }
  /** Strings with parts of runs that span several strings: the rest of each, by its list or record and its place in it. */
  across: ReadonlyMap<object, ReadonlyMap<string | number, string>>
}

/**
 * Reads the strings of a value together, such as the tokens of a model, and returns what remains of each string with erased words: also
 * without those that it contains alone, because the half of a name would no longer be found. Strings in messages of remaining authors, and in
 * messages that are erased, do not change.
 */
function restsAcross(value: unknown, erasedThreads: ErasedThreads): Map<object, Map<string | number, string>> {
  const spans = new Map<StringLeaf<MessageFacts | undefined>, PieceSpan[]>()
  for (const { leaves, glues } of leavesTogether<MessageFacts | undefined>(value, undefined, partsOf)) {
    const pieces = leaves.filter(
      ({ owner }) => !owner || !(isRemaining(owner, erasedThreads) || isErasedWith(owner, erasedThreads)),
    )
    const texts = pieces.map(({ text }) => text)
    for (const glue of glues)
      for (const [at, cuts] of runsAcross(texts, erasedThreads.runsIn, glue).spans) {
        const leaf = pieces[at]
        if (leaf) spans.set(leaf, [...(spans.get(leaf) ?? []), ...cuts])
      }
  }
  const rests = new Map<object, Map<string | number, string>>()
  for (const [{ container, key, text }, cuts] of spans) {
    const own = erasedThreads.runsIn(text)
    // Encoded words are cut in their encoding first. The next round reads what remains.
    if (own.some(({ view }) => view)) continue
    const rest = withoutSpans(text, [...cuts, ...own])
    rests.set(container, (rests.get(container) ?? new Map()).set(key, /[\p{L}\p{N}]/u.test(rest) ? rest : ''))
  }
  return rests
}

function changed<T>({ progress }: Walk, made: T): T {
  progress.isChanged = true
  return made
}

function madeOf<T extends object>({ origins }: Walk, before: object, made: T): T {
  origins.set(made, before)
  return made
}

const emptied = ({ how: { lists } }: Walk, key: string): unknown => (lists.has(key) ? [] : null)

function rewrittenText(walk: Walk, text: string, isOfDerived: boolean): unknown {
  if (isOfDerived && walk.how.isLater && text !== '') return changed(walk, '')
  if (isDistinctiveText(text) && walk.erasedThreads.ids.has(text)) return changed(walk, deleted)
  return isHolding(text, walk.erasedThreads) ? changed(walk, cut(text, walk.erasedThreads)) : text
}

function rewrittenList(walk: Walk, items: readonly unknown[], key: string, isOfDerived: boolean): unknown {
  if (isErasedPair(items, walk.erasedThreads)) return changed(walk, deleted)
  const [first, second] = items
  // [channel, value]: an update of a Command.
  if (items.length === 2 && typeof first === 'string' && typeof second === 'object' && second !== null) {
    const made = rewritten(walk, second, first, isOfDerived)
    return listOf(walk, items, [rewrittenText(walk, first, false), made === deleted ? emptied(walk, first) : made])
  }
  const rests = walk.across.get(items)
  return listOf(
    walk,
    items,
    items.map((item, at) => {
      const rest = rests?.get(at)
      if (rest === undefined) return rewritten(walk, item, key, isOfDerived)
      return changed(walk, rest === '' ? deleted : rewrittenText(walk, rest, isOfDerived))
    }),
  )
}

/** Returns the same list if no item changed. */
function listOf(walk: Walk, items: readonly unknown[], made: readonly unknown[]): readonly unknown[] {
  if (made.length === items.length && made.every((item, at) => item === items[at])) return items
  return madeOf(
    walk,
    items,
    made.filter((item) => item !== deleted),
  )
}

/** lc 2: removes whole entries of a Map, and empties bytes that contain the words. */
function rewrittenCollection(walk: Walk, record: JsonObject): unknown {
  const [content] = Array.isArray(record.args) ? record.args : []
  if (isConstructed(record, /^Map$/) && Array.isArray(content)) {
    const taken = new Set<unknown>(content.flatMap((entry: unknown) => (Array.isArray(entry) ? [entry[0]] : [])))
    const freeName = freeNames((name) => taken.has(name))
    const entries = content.flatMap((entry: unknown) => {
      if (!Array.isArray(entry)) return [entry]
      const part = (at: 0 | 1, name: string): unknown => {
        const rest = walk.across.get(entry)?.get(at)
        if (rest === undefined) return rewritten(walk, entry[at], name, false)
        return changed(walk, rest === '' && at === 0 ? placeholder : rewrittenText(walk, rest, false))
      }
      const [made, item] = [part(0, ''), part(1, String(entry[0]))]
      // A cut key may equal another one.
      const key = typeof made === 'string' && made !== entry[0] ? freeName(made) : made
      taken.add(key)
      if (key === entry[0] && item === entry[1]) return [entry]
      return key === deleted || item === deleted ? [] : [madeOf(walk, entry, [key, item])]
    })
    const isSame = entries.length === content.length && entries.every((entry, at) => entry === content[at])
    return isSame ? record : madeOf(walk, record, { ...record, args: [entries] })
  }
  if (isConstructed(record, /^Uint8Array$/) && Array.isArray(content)) {
    const text = Buffer.from(content.map(Number)).toString('utf8')
    return isHolding(text, walk.erasedThreads) ? changed(walk, madeOf(walk, record, { ...record, args: [[]] })) : record
  }
  return undefined
}

/** An id chosen by a client may be the name of a field. In that case the name is cut and the value remains. */
const isAboutIt = ({ erasedThreads }: Walk, key: string): boolean =>
  erasedThreads.forms.some((form) => key.includes(form)) ||
  erasedThreads.ids.values().some((id) => isGenerated(id) && key.includes(id))
/** Keeps the words of a remaining author's message, even if an erased author wrote the same, and removes erased ids from it. */
function rewrittenRemaining(walk: Walk, record: JsonObject, { id, text }: MessageFacts): unknown {
  if (id !== undefined && walk.erasedThreads.isQuoting(text)) walk.how.onMention?.(id)
  const quoted: ErasedThreads = {
    ...walk.erasedThreads,
    forms: [],
    texts: new Set(),
    remaining: new Set(),
    runsIn: () => [],
  }
  return rewrittenObject({ ...walk, erasedThreads: quoted }, record, false)
}

function rewrittenObject(walk: Walk, record: JsonObject, isOfDerived: boolean): unknown {
  const facts = messageIn(record)
  if (facts && isRemaining(facts, walk.erasedThreads)) return rewrittenRemaining(walk, record, facts)
  if (facts && isErasedWith(facts, walk.erasedThreads)) return changed(walk, deleted)
  // An erased tool call without its message, as it is sent to the tools node.
  if (typeof record.id === 'string' && walk.erasedThreads.calls.has(record.id) && 'args' in record)
    return changed(walk, deleted)
  const special = rewrittenCollection(walk, record)
  if (special !== undefined) return special
  const made: [string, unknown][] = []
  const taken = new Set(Object.keys(record))
  const freeName = freeNames((name) => taken.has(name))
  let isSame = true
  const isConstructor = record.type === 'constructor'
  for (const [key, item] of Object.entries(record)) {
    const isNamed = isHolding(key, walk.erasedThreads)
    if (isNamed && isAboutIt(walk, key)) {
      isSame = false
      walk.progress.isChanged = true
      continue
    }
    const isOfConstructed = isConstructor && (key === 'args' || key === 'kwargs')
    const isWords = !facts && (isDerived(key) || (isOfDerived && (fields.has(key) || isOfConstructed)))
    const rest = walk.across.get(record)?.get(key)
    const result =
      rest === undefined ? rewritten(walk, item, key, isWords) : changed(walk, rewrittenText(walk, rest, isWords))
    // A Send whose argument was erased is removed.
    if (result === deleted && key === 'args' && typeof record.node === 'string') return changed(walk, deleted)
    if (isNamed || result !== item) isSame = false
    const name = isNamed ? changed(walk, freeName(cut(key, walk.erasedThreads))) : key
    taken.add(name)
    made.push([name, result === deleted ? emptied(walk, key) : result])
  }
  return isSame ? record : madeOf(walk, record, Object.fromEntries(made))
}

function rewrittenBytes(walk: Walk, item: PackedBytes): unknown {
  return item.texts.some((text) => isHolding(text, walk.erasedThreads)) ? changed(walk, item.emptied()) : item
}

function rewritten(walk: Walk, item: unknown, key: string, isOfDerived: boolean): unknown {
  if (typeof item === 'string') return rewrittenText(walk, item, isOfDerived)
  if (Array.isArray(item)) return rewrittenList(walk, item, key, isOfDerived)
  if (item instanceof PackedNumber) return item
  if (item instanceof PackedBytes) return rewrittenBytes(walk, item)
  if (item instanceof PackedExtension) {
    if (isHolding(item.text, walk.erasedThreads)) throw new Unreadable('an extension that cannot be changed')
    return item
  }
  return isPlainObject(item) ? rewrittenObject(walk, item, isOfDerived) : item
}

const human = /^(human|user|HumanMessageChunk)$/
/** A human message in its notation, without everything that it said. */
function emptiedMessage(record: JsonObject, id: string): JsonObject | undefined {
  const inner = isPlainObject(record.kwargs) ? 'kwargs' : isPlainObject(record.data) ? 'data' : undefined
  const fields = inner === undefined ? record : record[inner]
  if (!isPlainObject(fields)) return undefined
  const isHuman = [record.type, record.role, fields.type, fields.role].some(
    (said) => typeof said === 'string' && human.test(said),
  )
  if (!isHuman && !isConstructed(record, /^HumanMessage(Chunk)?$/)) return undefined
  const retained = Object.entries(fields).flatMap(([key, value]): [string, unknown][] => {
    if (key === 'type' || key === 'role') return [[key, value]]
    if (key === 'content') return [[key, placeholder]]
    if (key === 'id') return [[key, id]]
    return key === 'additional_kwargs' || key === 'response_metadata' ? [[key, {}]] : []
  })
  const made = Object.fromEntries(retained)
  return inner === undefined ? made : { ...record, [inner]: made }
}

/** Keeps an empty human message in a list of messages that lost its last one. */
function withHuman(walk: Walk, before: unknown, after: unknown, id: string): unknown {
  if (!Array.isArray(before) || !Array.isArray(after) || before === after) return after
  const isHuman = (one: unknown) =>
    isPlainObject(one) && messageIn(one) !== undefined && emptiedMessage(one, id) !== undefined
  const last = before.findLast(isHuman)
  if (!isPlainObject(last) || after.some(isHuman)) return after
  const made = emptiedMessage(last, id)
  if (made === undefined) return after
  if (isPlainObject(made.kwargs) && isPlainObject(last.kwargs)) madeOf(walk, last.kwargs, made.kwargs)
  const at = after.findIndex((item) => before.indexOf(originIn(walk, item) ?? item) > before.indexOf(last))
  return madeOf(walk, before, after.toSpliced(at === -1 ? after.length : at, 0, madeOf(walk, last, made)))
}

const originIn = ({ origins }: Walk, one: unknown): object | undefined =>
  typeof one === 'object' && one !== null ? origins.get(one) : undefined

/** Rounds after which words that several strings contain together are given up. The thread is not changed then. */
const maxRounds = 4

/** Rewrites the parsed value of a channel, an input or metadata. It does not modify the value itself. @throws Unreadable */
export function rewriteValue(value: unknown, name: string, how: Rewriting): RewrittenValue {
  let made = rewriteOnce(value, name, how)
  for (let round = 1; made.isChanged && round < maxRounds; round++) {
    if (restsAcross(made.value, how.erasedThreads).size === 0) break
    const before = made
    const next = rewriteOnce(before.value, name, how)
    if (!next.isChanged) break
    made = {
      ...next,
      originOf(one) {
        const known = next.originOf(one)
        return known ? (before.originOf(known) ?? known) : before.originOf(one)
      },
    }
  }
  return made
}

function rewriteOnce(value: unknown, name: string, how: Rewriting): RewrittenValue {
  const progress = { isChanged: false }
  const walk: Walk = {
    how,
    erasedThreads: how.erasedThreads,
    origins: new WeakMap(),
    progress,
    across: restsAcross(value, how.erasedThreads),
  }
  const walked = rewritten(walk, value, name, isDerived(name))
  const made = how.emptiedId === undefined ? walked : withHuman(walk, value, walked, how.emptiedId)
  return {
    value: progress.isChanged ? (made === deleted ? emptied(walk, name) : made) : value,
    isChanged: progress.isChanged,
    originOf: (one) => originIn(walk, one),
  }
}
