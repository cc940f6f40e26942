import { endOfJson } from '#lib/text/json.ts'
import { tokenize } from '#lib/text/words.ts'

/** A remaining message or document, as the registry stores it. */
export interface LivingRecord {
  texts: readonly string[]
  /** Names, addresses and ids of its author. */
  authors: readonly string[]
  /** Ids of its project, of the project's graph, of its conversation and of the conversation's threads. */
  places: readonly string[]
  /** When it was created and last changed. */
  times: readonly Date[]
}
/** What the registry knows about the ids in a value. */
interface KnownIds {
  erased: ReadonlySet<string>
  living: ReadonlyMap<string, LivingRecord>
  /** Whether a text contains an erased id, wherever in the text. */
  namesErased(text: string): boolean
}

/** A string, number, boolean or null, or an empty list or record. */
interface Scalar {
  /** The property that has this value, in lower case and without separators. Items of a list have the property of the list. */
  name: string
  kind: 'string' | 'number' | 'boolean' | 'empty'
  text: string
  /** Whether it is an item of a list. */
  isItem: boolean
}
/** One message or document in a value that contains several. Offsets in UTF-16, `end` exclusive. */
interface SharedRecord {
  start: number
  end: number
  /** Where its value begins. */
  value: number
  /** Its name in a record of records. */
  key?: string
  scalars: Scalar[]
  /** Whether all its properties are those of a message or document. */
  isPlain: boolean
  /** Strings and names of properties that may be ids. */
  ids: string[]
}
/** Other texts for parts of a text, by their numbers; null: the part is removed. All others remain byte for byte. */
type Edits = ReadonlyMap<number, string | null>
/** A text that consists of records. */
export interface SharedRecords {
  records: SharedRecord[]
  /** The properties around the records, without a scalar for lists and records. */
  around: { name: string; scalar: Scalar | undefined }[]
  edited(records: Edits, around?: Edits): string
  /** Reads the edited text in the same way. */
  again(text: string): SharedRecords | undefined
}

/** Maximum length of a text in characters, maximum number of its records, and of the properties around them. */
const longest = 1_000_000
const maxRecords = 2_000
const maxAround = 100
/** Maximum depth of a value in a record, and maximum length of an id. */
const deepest = 6
const maxId = 200

const set = (words: string): ReadonlySet<string> => new Set(words.split(/\s+/))
/** Properties of a message or document, in lower case and without separators. Any other property may describe what is erased. */
const properties = {
  id: set('id uuid messageid msgid documentid docid sourceid source ref conversationid threadid projectid groupid'),
  text: set('text content body message pagecontent'),
  label: set(
    'role type kind author authorid name user userid username sender from speaker participant participantid externalid email',
  ),
  time: set('createdat created timestamp time ts date sentat updatedat'),
  score: set('score similarity distance'),
  number: set('index seq position tokens tokencount'),
  version: set('version v'),
  vector: set('embedding vector'),
  flag: set('edited pinned read'),
  around: set('metadata meta data payload attributes additionalkwargs responsemetadata kwargs'),
}
const isProperty = (name: string): boolean => Object.values(properties).some((names) => names.has(name))
const plainName = (name: string): string => name.toLowerCase().replace(/[_-]/g, '')

/** The property with the records, and those around it. */
const lists = set(
  'messages documents chunks sources items records entries turns history transcript conversation thread memories results data',
)
const places = set('conversationid conversation threadid thread projectid project groupid')
const versions = set('version v schemaversion')
const kinds = set('type kind object schema format')
/** A number of records that is exact. */
const counts = set('count total size length messagecount documentcount')
/**
 * Properties that describe the records and may derive from an erased one. Programs read the records without them. Without any other property,
 * such as an answer, the value would be of no use.
 */
const descriptions = set(
  `title name subject topic summary description preview lastmessage participants members users authors tags labels metadata meta language lang locale
   model status state createdat updatedat lastmessageat startedat endedat timestamp time date tokens tokencount cursor nextcursor hasmore unread pinned
   archived`,
)
const isDescription = (name: string): boolean =>
  [descriptions, counts, versions, kinds, places].some((names) => names.has(name))

const constants = set(
  `user assistant system tool human ai bot agent customer developer function message text document chunk artifact chat humanmessage aimessage
   systemmessage toolmessage list messages documents history transcript conversation thread json markdown text/plain text/markdown`,
)
const instant = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?$/
/** Applications record other clocks and local times. In milliseconds. */
const nearby = 86_400_000
/** Larger numbers may be dates or parts of them, telephone numbers or accounts. */
const maxNumber = 9_999
const maxVersion = 99
const maxScore = 100
const maxCoordinate = 1_000

/** The end of a string of valid JSON, after its quotation mark. */
function afterString(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); ; at = text.indexOf('"', at + 1)) {
    let slashes = 0
    while (text[at - 1 - slashes] === '\\') slashes++
    if (slashes % 2 === 0) return at + 1
  }
}
const separators = /[\s,:]/
/** The end of a number or word. */
function afterWord(text: string, start: number, end: number): number {
  let at = start
  while (at < end && !/[\s,\]}]/.test(text[at] ?? '')) at++
  return at
}
const isOpening = (sign: string | undefined): boolean => sign === '{' || sign === '['
const isClosing = (sign: string | undefined): boolean => sign === '}' || sign === ']'

interface Child {
  key: string | undefined
  /** Where the value begins. */
  value: number
  /** With its key and the blanks around it, without the comma. */
  start: number
  end: number
}
/** The direct children of the list or record that begins at an offset, and where it ends. The text is valid JSON. */
function childrenOf(text: string, start: number): { children: Child[]; end: number } {
  const isRecord = text[start] === '{'
  const children: Child[] = []
  let from = start + 1
  let key: string | undefined
  let value = -1
  let depth = 0
  for (let at = start + 1; at < text.length; ) {
    const sign = text[at] ?? ''
    if (depth === 0 && (sign === ',' || isClosing(sign))) {
      if (value >= 0) children.push({ key, value, start: from, end: at })
      if (sign !== ',') return { children, end: at + 1 }
      ;[from, key, value] = [at + 1, undefined, -1]
    }
    if (separators.test(sign)) {
      at++
      continue
    }
    const isKey = depth === 0 && isRecord && key === undefined && sign === '"'
    if (depth === 0 && !isKey && value < 0) value = at
    if (isOpening(sign)) depth++
    if (isClosing(sign)) depth--
    const end =
      sign === '"'
        ? afterString(text, at)
        : isOpening(sign) || isClosing(sign)
          ? at + 1
          : afterWord(text, at, text.length)
    if (isKey) key = String(JSON.parse(text.slice(at, end)))
    at = end
  }
  return { children, end: text.length }
}

/** Two properties of a record with the same name: programs differ in which one they read. */
class RepeatedName extends Error {}

/**
 * The scalars of a value, which a property may name. Without recursion, because the depth of a value is unlimited. @throws RepeatedName
 */
function scalarsOf(
  text: string,
  start: number,
  end: number,
  property?: string,
): Pick<SharedRecord, 'scalars' | 'isPlain' | 'ids'> {
  const found = { scalars: [] as Scalar[], isPlain: true, ids: [] as string[] }
  const open: { isRecord: boolean; name: string; keys: Set<string>; isEmpty: boolean }[] = []
  let name = property
  for (let at = start; at < end; ) {
    const sign = text[at] ?? ''
    if (separators.test(sign)) {
      at++
      continue
    }
    const around = open.at(-1)
    if (isClosing(sign)) {
      open.pop()
      if (around?.isEmpty) found.scalars.push({ name: around.name, kind: 'empty', text: '', isItem: false })
      name = undefined
      at++
      continue
    }
    if (around) around.isEmpty = false
    if (isOpening(sign)) {
      if (open.length >= deepest) found.isPlain = false
      open.push({ isRecord: sign === '{', name: name ?? around?.name ?? '', keys: new Set(), isEmpty: true })
      name = undefined
      at++
      continue
    }
    const next = sign === '"' ? afterString(text, at) : afterWord(text, at, end)
    const literal = text.slice(at, next)
    at = next
    if (around?.isRecord && name === undefined) {
      const key = String(JSON.parse(literal))
      if (around.keys.has(key)) throw new RepeatedName()
      around.keys.add(key)
      name = plainName(key)
      if (!isProperty(name)) found.isPlain = false
      if (mayBeId(key)) found.ids.push(key)
      continue
    }
    const scalar = scalarOf(name ?? around?.name ?? '', literal, around?.isRecord === false)
    found.scalars.push(scalar)
    if (scalar.kind === 'string' && mayBeId(scalar.text)) found.ids.push(scalar.text)
    name = undefined
  }
  return found
}
function scalarOf(name: string, literal: string, isItem = false): Scalar {
  if (literal.startsWith('"')) return { name, kind: 'string', text: String(JSON.parse(literal)), isItem }
  if (literal === 'null') return { name, kind: 'empty', text: '', isItem }
  return { name, kind: literal === 'true' || literal === 'false' ? 'boolean' : 'number', text: literal, isItem }
}

const mayBeId = (text: string): boolean => text !== '' && text.length <= maxId && !/[\s\0]/.test(text)

/** Replaces or removes adjacent items of a list or record, with their commas. */
function editedItems(text: string, items: readonly { start: number; end: number }[], edits: Edits): string {
  const rest = items.flatMap(({ start, end }, n) => {
    const edit = edits.get(n)
    return edit === null ? [] : [edit ?? text.slice(start, end)]
  })
  return rest.join(',')
}
const around = (text: string, items: readonly { start: number; end: number }[], by: string): string =>
  `${text.slice(0, items[0]?.start ?? 0)}${by}${text.slice(items.at(-1)?.end ?? 0)}`
/** The items of a list, or the values of a record by their ids. Undefined if one of them is not a record. */
function recordsIn(text: string, children: readonly Child[]): SharedRecords | undefined {
  if (children.length > maxRecords || children.some(({ value }) => text[value] !== '{')) return undefined
  if (children.some(({ key }) => key !== undefined && !mayBeId(key))) return undefined
  const records = children.map(({ key, value, start, end }): SharedRecord => {
    const { ids, ...content } = scalarsOf(text, value, end)
    const record = { ...content, value, start, end, ids }
    return key === undefined ? record : { ...record, key, ids: [key, ...ids] }
  })
  return {
    records,
    around: [],
    edited: (edits) => around(text, records, editedItems(text, records, edits)),
    again: sharedRecordsOf,
  }
}
/** A record with one list of records, or records by their ids. */
function recordsOfObject(text: string, start: number): SharedRecords | undefined {
  const { children } = childrenOf(text, start)
  if (new Set(children.map(({ key }) => key)).size < children.length) throw new RepeatedName()
  if (children.every(({ value }) => text[value] === '{')) return recordsIn(text, children)
  const named = children.filter(({ key = '', value }) => text[value] === '[' && lists.has(plainName(key)))
  const [list, ...more] = named
  if (!list || more.length > 0) return undefined
  const shared = recordsIn(text, childrenOf(text, list.value).children)
  if (!shared || shared.records.length === 0) return undefined
  const { records } = shared
  const others = [...children.entries()].filter(([, child]) => child !== list)
  if (others.length > maxAround) return undefined
  return {
    records,
    around: others.map(([, { key = '', value, end }]) => {
      const name = plainName(key)
      return { name, scalar: isOpening(text[value]) ? undefined : scalarOf(name, text.slice(value, end).trim()) }
    }),
    edited(edits, more = new Map()) {
      const own = text.slice(list.start, records[0]?.start) + editedItems(text, records, edits)
      const all = new Map<number, string | null>([
        [children.indexOf(list), own + text.slice(records.at(-1)?.end, list.end)],
      ])
      for (const [n, edit] of more) {
        const [at, child] = others[n] ?? []
        if (at !== undefined && child) all.set(at, edit === null ? null : text.slice(child.start, child.value) + edit)
      }
      return around(text, children, editedItems(text, children, all))
    },
    again: sharedRecordsOf,
  }
}

/** The lines of NDJSON as records. Undefined if a line is not a record. */
function recordsOfLines(text: string): SharedRecords | undefined {
  const records: SharedRecord[] = []
  for (let start = 0; start < text.length; ) {
    const at = text.indexOf('\n', start)
    const end = at < 0 ? text.length : at + 1
    const value = startOfJson(text, start, end)
    if (value < end) {
      if (text[value] !== '{' || !isJsonUntil(text, value, end) || records.length >= maxRecords) return undefined
      records.push({ start, end, value, ...scalarsOf(text, value, end) })
    }
    start = end
  }
  const edited = (edits: Edits): string => {
    let rest = ''
    let until = 0
    for (const [n, { start, end }] of records.entries()) {
      const edit = edits.get(n)
      if (edit === undefined) continue
      rest += text.slice(until, start) + (edit ?? '')
      until = end
    }
    return rest + text.slice(until)
  }
  return { records, around: [], edited, again: recordsOfLines }
}

/** The first character that is not blank; `end` if there is none before it. */
function startOfJson(text: string, from: number, end: number): number {
  let at = from
  while (at < end && ' \t\r\n'.includes(text[at] ?? '')) at++
  return at
}
/** Whether a value of JSON begins at `start`, with nothing but blanks from its end to `end`. */
function isJsonUntil(text: string, start: number, end: number): boolean {
  const after = endOfJson(text, start, end)
  return after > start && startOfJson(text, after, end) >= end
}

/**
 * The records of a text that is a list of records, one record with such a list, records by their ids, or NDJSON. Undefined for any other
 * text, and if the name of a property occurs twice in a record. Linear in the length of the text.
 */
export function sharedRecordsOf(text: string): SharedRecords | undefined {
  const start = startOfJson(text, 0, text.length)
  return withUniqueNames(text, () => {
    if (!isOpening(text[start])) return undefined
    if (!isJsonUntil(text, start, text.length)) return text[start] === '{' ? recordsOfLines(text) : undefined
    return text[start] === '{' ? recordsOfObject(text, start) : recordsIn(text, childrenOf(text, start).children)
  })
}
/** As {@link sharedRecordsOf}, and one record in one line: all that remains of NDJSON of which the other lines were removed. */
export const recordsOf = (text: string): SharedRecords | undefined =>
  sharedRecordsOf(text) ?? withUniqueNames(text, () => recordsOfLines(text))

function withUniqueNames(text: string, read: () => SharedRecords | undefined): SharedRecords | undefined {
  if (text.length > longest) return undefined
  try {
    return read()
  } catch (error) {
    if (error instanceof RepeatedName) return undefined
    throw error
  }
}

export const foldedText = (text: string): string => text.normalize('NFC').replace(/\s+/g, ' ').trim()
const wordsOf = (text: string): string[] => tokenize(text).map(({ word }) => word)

/** What a remaining message or document explains, in a form that is compared once for each scalar. */
interface Explanation {
  texts: ReadonlySet<string>
  /** Ids, names and addresses. */
  exact: ReadonlySet<string>
  /** The words of each name. */
  names: readonly ReadonlySet<string>[]
  isNear(time: number): boolean
}
/** Values of a run name the same messages: their texts are folded once. */
const explanations = new WeakMap<LivingRecord, Explanation>()
function explanationOf(record: LivingRecord): Explanation {
  const known = explanations.get(record)
  if (known) return known
  const { texts, authors, places, times } = record
  const explanation: Explanation = {
    texts: new Set(texts.map(foldedText)),
    exact: new Set([...authors, ...places]),
    names: authors.map((author) => new Set(wordsOf(author))),
    isNear: (time) => times.some((one) => Math.abs(one.getTime() - time) <= nearby),
  }
  explanations.set(record, explanation)
  return explanation
}
/** What the remaining messages and documents with these ids explain, at most one more than a record may name. */
const explanationsOf = (ids: Iterable<string>, living: ReadonlyMap<string, LivingRecord>): Explanation[] =>
  [...ids].slice(0, maxNamed + 1).flatMap((id) => {
    const record = living.get(id)
    return record ? [explanationOf(record)] : []
  })
/** Maximum number of messages and documents that one record names. */
const maxNamed = 8

/** Whether the registry explains each scalar of a record: it belongs to the messages or documents that the record names. */
function isExplained(
  { scalars, isPlain }: Pick<SharedRecord, 'scalars' | 'isPlain'>,
  of: readonly Explanation[],
  ids: ReadonlySet<string>,
): boolean {
  if (!isPlain || of.length === 0 || of.length > maxNamed) return false
  const isKnown = (text: string): boolean => of.some(({ exact }) => exact.has(text))
  const isAuthor = (text: string): boolean => {
    const words = wordsOf(text)
    const isWithin = (name: ReadonlySet<string>) => words.every((word) => name.has(word))
    return words.length > 0 && of.some(({ names }) => names.some(isWithin))
  }
  const isNear = (time: number): boolean => of.some((one) => one.isNear(time))
  return scalars.every(({ name, kind, text, isItem }) => {
    if (kind === 'empty') return true
    if (kind === 'boolean') return !isItem && properties.flag.has(name)
    if (kind === 'number') {
      const number = Number(text)
      if (isItem) return properties.vector.has(name) && Math.abs(number) <= maxCoordinate
      if (properties.time.has(name)) return isNear(number) || isNear(number * 1_000)
      if (properties.score.has(name)) return Math.abs(number) <= maxScore
      if (!Number.isInteger(number) || number < 0) return false
      return properties.version.has(name) ? number <= maxVersion : properties.number.has(name) && number <= maxNumber
    }
    if (properties.id.has(name)) return ids.has(text) || isKnown(text)
    if (properties.text.has(name)) {
      const words = foldedText(text)
      return of.some(({ texts }) => texts.has(words))
    }
    if (properties.time.has(name)) return instant.test(text) && isNear(Date.parse(text))
    return properties.label.has(name) && (constants.has(text.toLowerCase()) || isKnown(text) || isAuthor(text))
  })
}
const isCount = (scalar: Scalar | undefined, count: number): boolean =>
  scalar?.kind === 'number' && counts.has(scalar.name) && scalar.text === String(count)
/** Whether what is around the records only names their kind and place. */
function isStructure(scalar: Scalar | undefined, known: ReadonlySet<string>): boolean {
  if (scalar === undefined) return false
  const { name, kind, text } = scalar
  if (kind === 'number') return versions.has(name) && /^\d{1,2}$/.test(text)
  if (kind !== 'string') return false
  return kinds.has(name) ? constants.has(text.toLowerCase()) : places.has(name) && known.has(text)
}

/** Maximum number of ids that are read for one value, and minimum length of a text in characters. */
const maxIds = 2_000
const leastText = 2

/**
 * The ids of the messages and documents that a value may name. Undefined if nothing needs to be read: no record can name a remaining one, or
 * there are too many ids.
 */
export function idsToRead({ records }: SharedRecords, erased: ReadonlySet<string>): string[] | undefined {
  const others = records.filter(({ ids }) => !ids.some((id) => erased.has(id)))
  if (!others.some(({ ids }) => ids.length > 0)) return undefined
  const ids = new Set(records.flatMap((record) => record.ids.filter((id) => !isProperty(plainName(id)))))
  return ids.size > maxIds ? undefined : [...ids]
}

/** The complete texts of remaining messages and documents in the records that name them; undefined if there are none. */
export function explainedTexts(
  { records }: { records: readonly Pick<SharedRecord, 'scalars' | 'ids'>[] },
  living: ReadonlyMap<string, LivingRecord>,
): ReadonlySet<string> | undefined {
  const found = new Set<string>()
  for (const { scalars, ids } of records) {
    const named = explanationsOf(new Set(ids.filter((one) => living.has(one))), living)
    for (const { name, kind, text } of named.length === 0 ? [] : scalars) {
      if (kind !== 'string' || !properties.text.has(name)) continue
      const one = foldedText(text)
      if (one.length >= leastText && named.some(({ texts }) => texts.has(one))) found.add(one)
    }
  }
  return found.size > 0 ? found : undefined
}

/** The places of remaining messages and documents. */
const placesOf = (living: ReadonlyMap<string, LivingRecord>): ReadonlySet<string> =>
  new Set(living.values().flatMap(({ places }) => places))

/** Whether the registry explains everything in a value, which names remaining messages and documents only. */
export function areExplained({ records, around }: SharedRecords, living: ReadonlyMap<string, LivingRecord>): boolean {
  const known = placesOf(living)
  return (
    around.every(({ scalar }) => isStructure(scalar, known) || isCount(scalar, records.length)) &&
    records.every((record) => {
      const named = new Set(record.ids.filter((id) => living.has(id)))
      return (
        (record.key === undefined || named.has(record.key)) && isExplained(record, explanationsOf(named, living), named)
      )
    })
  )
}

/**
 * A record of remaining messages or documents with only those properties that the registry explains. Undefined if no complete text of them
 * would remain.
 */
function explainedRecord(
  text: string,
  { start, end, value, key }: SharedRecord,
  living: ReadonlyMap<string, LivingRecord>,
): string | undefined {
  const { children } = childrenOf(text, value)
  const contents = children.map((child) => ({
    ...scalarsOf(text, child.value, child.end, plainName(child.key ?? '')),
    isNamed: isProperty(plainName(child.key ?? '')),
  }))
  const edits = new Map<number, null>()
  const kept = () => contents.flatMap(({ scalars }, n) => (edits.has(n) ? [] : scalars))
  // A removed property may have named the message that explained another one.
  for (let removed = -1; removed < edits.size; ) {
    removed = edits.size
    const ids = kept().flatMap(({ name, text }) => (properties.id.has(name) ? [text] : []))
    const named = new Set([...(key === undefined ? [] : [key]), ...ids].filter((id) => living.has(id)))
    const of = explanationsOf(named, living)
    for (const [n, { scalars, isPlain, isNamed }] of contents.entries())
      if (!isNamed || !isExplained({ scalars, isPlain }, of, named)) edits.set(n, null)
    if (
      removed === edits.size &&
      explainedTexts({ records: [{ scalars: kept(), ids: [...named] }] }, living) === undefined
    )
      return undefined
  }
  const [first, last] = [children[0], children.at(-1)]
  return text.slice(start, first?.start) + editedItems(text, children, edits) + text.slice(last?.end, end)
}

const instructing = set('system developer tool function')
const callNames = set('toolcalls toolcallid functioncall')
/**
 * Whether an agent that continues from the records needs this one whole: instructions without which it has no rules, or one half of a call of
 * a tool.
 */
const isNeeded = (text: string, { value, scalars }: SharedRecord): boolean =>
  scalars.some(({ name, text: role }) => properties.label.has(name) && instructing.has(role.toLowerCase())) ||
  childrenOf(text, value).children.some(({ key = '' }) => callNames.has(plainName(key)))

/**
 * The text without everything that the registry does not explain: records of erased messages and documents, records of unknown ones, other
 * properties of records, and descriptions around them. Undefined if no complete text of a remaining message or document would remain, if
 * instructions or one half of a call of a tool would be removed, or if the text does not consist of records: then what remains may derive from
 * what is erased.
 */
export function withoutErasedRecords(
  text: string,
  shared: SharedRecords,
  { living, erased, namesErased }: KnownIds,
): { text: string; texts: ReadonlySet<string> } | undefined {
  const edits = new Map<number, string | null>()
  for (const [n, record] of shared.records.entries()) {
    const { start, end, key, ids } = record
    const named = new Set(ids.filter((id) => living.has(id)))
    const isErased = ids.some((id) => erased.has(id)) || namesErased(text.slice(start, end))
    if (isErased) edits.set(n, null)
    else if (key !== undefined && !living.has(key)) edits.set(n, null)
    else if (!isExplained(record, explanationsOf(named, living), named))
      edits.set(n, named.size === 0 ? null : (explainedRecord(text, record, living) ?? null))
    if (!isErased && edits.has(n) && isNeeded(text, record)) return undefined
  }
  const left =
    shared.records.length -
    edits
      .values()
      .filter((edit) => edit === null)
      .toArray().length
  if (left === 0) return undefined
  const places = placesOf(living)
  const beside = new Map<number, string | null>()
  for (const [n, { name, scalar }] of shared.around.entries())
    if (isCount(scalar, shared.records.length)) beside.set(n, String(left))
    else if (!isStructure(scalar, places)) {
      if (!isDescription(name)) return undefined
      beside.set(n, null)
    }
  const rest = shared.edited(edits, beside)
  // What remains is read again, so that nothing depends on how it was edited.
  const again = namesErased(rest) ? undefined : shared.again(rest)
  const texts = again && areExplained(again, living) ? explainedTexts(again, living) : undefined
  return texts && { text: rest, texts }
}
