import { looksLikeAPersonsName } from '#lib/domains/pii/person-names.ts'
import { scan } from '#lib/domains/pii/scanner.ts'
import { isKeyByteList } from '#lib/domains/pii/secrets/credentials.ts'
import { DEPTH_LIMIT, DepthError } from '#lib/domains/sanitizer/fields.ts'
import type { StrippedKind } from './strip-kinds.ts'
import { isMark, type Mark, stripMarks } from './strip-marks.ts'
import { beneath, impliedByName, isPairedValue, type NameContext, nameOfNext, pairedName, root } from './strip-names.ts'
import { type AnalyzerMatch, stripPatternsOf, strippedSpans } from './strip-texts.ts'

export type JsonTree = null | boolean | number | string | JsonTree[] | { [name: string]: JsonTree }
/** An entry as it is written, without its id. */
export interface ShareableEntry {
  kind: string
  content: JsonTree
  confidence: number
  tags: readonly string[]
  provenance: JsonTree
  parents: readonly string[]
  valid_from: string | null
  valid_until: string | null
}
export interface StrippedEntry {
  /** The only part that is sent. */
  payload: ShareableEntry
  /** The number of removed values per kind, never the values. */
  removed: Partial<Record<StrippedKind, number>>
}

/** Ids of this and other systems: `ent_…`, a UUID, the address of a unit. */
const idForm = /^(?:[a-z]{2,10}_[0-9A-Za-z]{20,26}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|kp:[\w:.-]{1,120})$/i
/** A number as people write it: with a currency, separators or a unit. */
const numeral = /^[~≈<>]? ?[$€£¥-]? ?\d[\d .,_]{0,30}(?:e[+-]?\d{1,3})? ?[\p{L}%×]{0,10}$/iu
const isNumeral = (text: string): boolean => numeral.test(text.replace(/\s+/g, ' ').trim())
const time = /^\d{4}-\d{2}-\d{2}(?:T[\d:.]{5,15}(?:Z|[+-]\d{2}:?\d{2})?)?$/
const leastWords = 12
/** A redaction can join the text on both sides into a new match. After this many passes the whole text is redacted. */
const mostPasses = 4

interface Stripping {
  known: ReturnType<typeof stripPatternsOf>
  mark: Mark
}

function withoutMatches({ known, mark }: Stripping, text: string, name: string): string {
  let now = text
  for (let pass = 0; pass <= mostPasses; pass++) {
    const spans = strippedSpans(now, name, known)
    const [first] = spans
    if (!first) return now
    if (pass === mostPasses) return mark(first.kind, now)
    let written = ''
    let from = 0
    for (const { kind, start, end } of spans) {
      written += now.slice(from, start) + mark(kind, now.slice(start, end))
      from = end
    }
    now = written + now.slice(from)
  }
  return now
}

function strippedText(stripping: Stripping, value: string, context: NameContext): string {
  if (value === '' || isMark(value)) return value
  const { mark } = stripping
  const { isOrigin } = context
  const { text: kind, number, isPersons } = impliedByName(context, value)
  const isId = idForm.test(value) && kind !== 'credential' && kind !== 'seed_phrase'
  if (kind !== undefined && (kind === 'seed_phrase' ? !isNumeral(value) : !isId)) return mark(kind, value)
  if (number !== undefined && isNumeral(value) && !time.test(value)) return mark(number, value)
  if (
    isPersons &&
    !isId &&
    looksLikeAPersonsName(value) &&
    (isOrigin ? /\s|[\u4e00-\u9fff]/.test(value) : /\S\s+\S/.test(value))
  )
    return mark('name', value)
  return withoutMatches(stripping, value, context.name)
}

function strippedNumber({ known, mark }: Stripping, value: number, context: NameContext): number | string {
  const { number } = impliedByName(context, String(value))
  if (number !== undefined) return mark(number, String(value))
  const [span] = strippedSpans(String(value), context.name, known)
  return span ? mark(span.kind, String(value)) : value
}

/** Whether these values are the words of a seed phrase, one word each, in order. */
function phraseIn(values: readonly JsonTree[]): boolean {
  const words = values.filter((one) => typeof one === 'string' && one.split(/\s+/).length < leastWords)
  return words.length >= leastWords && scan(`seed: ${words.join(' ')}`).some(({ kind }) => kind === 'seed_phrase')
}

function strippedTree(stripping: Stripping, node: JsonTree, context: NameContext, depth: number): JsonTree {
  const { mark } = stripping
  const { isOrigin } = context
  if (typeof node === 'string') return strippedText(stripping, node, context)
  if (typeof node === 'number') return strippedNumber(stripping, node, context)
  if (node === null || typeof node === 'boolean') return node
  if (depth >= DEPTH_LIMIT) throw new DepthError()
  if (Array.isArray(node)) {
    if (isKeyByteList(node)) return mark('private_key', node.join(','))
    if (phraseIn(node)) return mark('seed_phrase', node.join(' '))
    const second = nameOfNext(node)
    const next = second === undefined ? context : beneath(context, second)
    return node.map((one, at) => strippedTree(stripping, one, at === 1 ? next : context, depth + 1))
  }
  const members = Object.entries(node)
  if (phraseIn(members.map(([, one]) => one)) || phraseIn(members.map(([name]) => name)))
    return mark('seed_phrase', JSON.stringify(node))
  const taken = new Set<string>()
  const paired = pairedName(members)
  return Object.fromEntries(
    members.map(([name, child]) => {
      const stripped =
        isOrigin && looksLikeAPersonsName(name) && /\s/.test(name)
          ? mark('name', name)
          : withoutMatches(stripping, name, '')
      let free = stripped
      for (let again = 2; taken.has(free); again++) free = `${stripped} (${again})`
      taken.add(free)
      const own = beneath(context, stripped)
      const called = paired !== undefined && isPairedValue(name) ? beneath(own, paired) : own
      return [free, strippedTree(stripping, child, called, depth + 1)]
    }),
  )
}

/**
 * Removes private data from an entry: wallet addresses, exact trade sizes and prices, keys, credentials, seed phrases
 * and names of people. Examines every text, key and number at every depth, and keeps all other bytes. Each removed
 * value becomes a mark such as `‹credential:1›`; equal values get equal numbers. Pure and idempotent; browser, command
 * line and server give the same result.
 *
 * `names`: known people, removed in every field. `found`: additional findings of an analyzer.
 *
 * @throws DepthError beyond 100 nested objects and arrays
 */
export function stripEntry(
  entry: ShareableEntry,
  { names = [], found = [] }: { names?: readonly string[]; found?: readonly AnalyzerMatch[] } = {},
): StrippedEntry {
  const { mark, removed } = stripMarks()
  const stripping: Stripping = { known: stripPatternsOf(names, found), mark }
  const payload: ShareableEntry = {
    kind: entry.kind,
    content: strippedTree(stripping, entry.content, root(false), 0),
    confidence: entry.confidence,
    tags: entry.tags.map((tag) => strippedText(stripping, tag, beneath(root(false), 'tag'))),
    provenance: strippedTree(stripping, entry.provenance, root(true), 0),
    parents: entry.parents.map((parent) =>
      idForm.test(parent) ? withoutMatches(stripping, parent, '') : strippedText(stripping, parent, root(true)),
    ),
    valid_from: entry.valid_from,
    valid_until: entry.valid_until,
  }
  return { payload, removed }
}
