import { credentialForms } from './credentials.ts'
import { type Finding, finding, type Kind, settled } from './findings.ts'
import { strategyDetails } from './strategy.ts'

/** What an analyzer of names found, in UTF-16 offsets; `entity` is its own word for the kind. */
export interface Recognised {
  entity: string
  start: number
  end: number
  score: number
}
/** Whoever finds names. `undefined`: it did not answer. */
export type Recognise = (text: string, language: string) => Promise<Recognised[] | undefined>

/** Presidio's words for what we tell. */
const kindsOf = new Map<string, Kind>([
  ['PERSON', 'name'],
  ['LOCATION', 'address'],
  ['EMAIL_ADDRESS', 'email'],
  ['PHONE_NUMBER', 'phone'],
  ['IBAN_CODE', 'iban'],
  ['CREDIT_CARD', 'card'],
  ['US_SSN', 'ssn'],
  ['IP_ADDRESS', 'ip'],
  ['CRYPTO', 'bitcoin_address'],
])
/** Below, Presidio guesses. */
const leastScore = 0.5

/** Ours, and theirs where ours has nothing: of what reaches over one of ours, the words beside it. */
export function merged(text: string, ours: readonly Finding[], theirs: readonly Recognised[]): Finding[] {
  const more = theirs.flatMap(({ entity, start, end, score }) => {
    const kind = kindsOf.get(entity)
    if (kind === undefined || score < leastScore) return []
    const pieces: Finding[] = []
    let from = start
    const keep = (until: number) => {
      const written = text.slice(from, until)
      const [before, behind] = [written.length - written.trimStart().length, written.trimEnd().length]
      if (from === start && until === end) pieces.push(finding(kind, start, end, Math.min(score, 1)))
      else if (/\p{L}{2}/u.test(written)) pieces.push(finding(kind, from + before, from + behind, Math.min(score, 1)))
    }
    for (const one of ours) {
      if (one.end <= from || one.start >= end) continue
      if (one.start > from) keep(one.start)
      from = one.end
    }
    if (from < end) keep(end)
    return pieces
  })
  return settled([...ours, ...more])
}

/** UTF-16 units that are asked about at once, and how many such parts of one question: all at the same time, so that it takes no longer than one. */
const portion = 32 * 1024
const mostPortions = 8
const between = '\n\n'

interface Portion {
  text: string
  /** Which text stands from where in it, and from where in that text. */
  pieces: { index: number; at: number; from: number; length: number }[]
}
/** Whether somebody's name or address may stand in it: several words, or one with a capital or of no Latin script; no id, no date. */
const mayName = (text: string): boolean =>
  /\s/.test(text.trim()) ? /\p{L}{2}/u.test(text) : /^(?:\p{Lu}\p{Ll}{1,80}|[^\0-\x7f]{2,80})$/u.test(text)

/** Where a text is parted that is too long: behind a sentence or a line, or else between words, so that a name stays whole. */
function cutAt(text: string, from: number, most: number): number {
  const ends = [text.lastIndexOf('\n', most - 1), text.lastIndexOf('. ', most - 1), text.lastIndexOf('。', most - 1)]
  const last = Math.max(...ends)
  const end = last > from ? last : text.lastIndexOf(' ', most - 1)
  return end > from ? end : most
}

function portionsOf(texts: readonly string[]): Portion[] {
  const all: Portion[] = []
  let open: Portion = { text: '', pieces: [] }
  for (const [index, text] of texts.entries()) {
    if (!mayName(text)) continue
    for (let from = 0; from < text.length; ) {
      const room = portion - open.text.length
      const rest = text.length - from
      if (rest > room && open.text !== '') {
        all.push(open)
        open = { text: '', pieces: [] }
        continue
      }
      const until = rest > room ? cutAt(text, from, from + room) : text.length
      open.pieces.push({ index, at: open.text.length, from, length: until - from })
      open.text += text.slice(from, until) + between
      from = until
    }
  }
  return open.text === '' ? all : [...all, open]
}

/**
 * The text as an analyzer sees it: what we found ourselves and credentials are covered, of trades the digits, each sign by one, so that
 * places stay. A name beside them is still one.
 */
function covered(text: string, ours: readonly Finding[]): string {
  const credentials = credentialForms.flatMap(({ sign, pattern }) =>
    sign.test(text)
      ? [...text.matchAll(pattern)].map(({ 0: found, index }) => ({ start: index, end: index + found.length }))
      : [],
  )
  const hidden = over(text, [...ours, ...credentials], ({ length }) => 'x'.repeat(length))
  return /\d/.test(text) ? over(hidden, strategyDetails(text), (found) => found.replace(/\d/g, '0')) : hidden
}
/** The text with something else in some places, which may overlap. */
function over(
  text: string,
  places: readonly Pick<Finding, 'start' | 'end'>[],
  cover: (found: string) => string,
): string {
  let written = ''
  let from = 0
  for (const { start, end } of places.toSorted((one, other) => one.start - other.start)) {
    if (end <= from) continue
    const begin = Math.max(start, from)
    written += text.slice(from, begin) + cover(text.slice(begin, end))
    from = end
  }
  return written + text.slice(from)
}

/**
 * What is found in some texts with what an analyzer finds besides, in a bounded time. It is asked once for many short texts, and is not shown what was found. `missing` are
 * those that it did not answer for: they are told without it. Without an analyzer nothing is asked and nothing missed.
 */
export async function withNames(
  recognise: Recognise | undefined,
  texts: readonly string[],
  ours: readonly (readonly Finding[])[],
  language = 'en',
): Promise<{ findings: (readonly Finding[])[]; missing: ReadonlySet<number> }> {
  if (recognise === undefined) return { findings: [...ours], missing: new Set() }
  const portions = portionsOf(texts.map((text, index) => covered(text, ours[index] ?? [])))
  const asked = portions.slice(0, mostPortions)
  const answers = await Promise.all(asked.map(({ text }) => recognise(text, language)))
  const theirs = texts.map((): Recognised[] => [])
  for (const [at, { pieces }] of asked.entries())
    for (const one of answers[at] ?? [])
      for (const { index, at: begin, from, length } of pieces) {
        const [start, end] = [Math.max(one.start, begin), Math.min(one.end, begin + length)]
        if (start < end) theirs[index]?.push({ ...one, start: start - begin + from, end: end - begin + from })
      }
  return {
    findings: texts.map((text, index) => merged(text, ours[index] ?? [], theirs[index] ?? [])),
    missing: new Set(
      portions.filter((_, at) => answers[at] === undefined).flatMap(({ pieces }) => pieces.map(({ index }) => index)),
    ),
  }
}
