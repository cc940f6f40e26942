import { finding, type SensitiveFinding, type SensitiveKind, withoutOverlaps } from './findings.ts'
import { credentialForms } from './secrets/credentials.ts'
import { strategyDetails } from './strategy.ts'

/** A name found by the analyzer, in UTF-16 offsets; `entity` is the analyzer's own name for the kind. */
export interface RecognizedName {
  entity: string
  start: number
  end: number
  score: number
}
/** Finds names; undefined if the analyzer did not answer. */
export type Recognise = (text: string, language: string) => Promise<RecognizedName[] | undefined>

/** Maps Presidio's entities to our kinds. */
const kindsOf = new Map<string, SensitiveKind>([
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
/** Below this score Presidio's results are guesses. */
const leastScore = 0.5

/**
 * Merges our findings with the analyzer's where ours have none; if an analyzer finding overlaps ours, only its remaining words are added.
 */
export function mergeFindings(
  text: string,
  ours: readonly SensitiveFinding[],
  theirs: readonly RecognizedName[],
): SensitiveFinding[] {
  const more = theirs.flatMap(({ entity, start, end, score }) => {
    const kind = kindsOf.get(entity)
    if (kind === undefined || score < leastScore) return []
    const pieces: SensitiveFinding[] = []
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
  return withoutOverlaps([...ours, ...more])
}

/** UTF-16 units per analyzer request, and maximum concurrent requests, so that the total time is that of one request. */
const portion = 32 * 1024
const maxPortions = 8
const between = '\n\n'

interface Portion {
  text: string
  /** Maps ranges of the portion to their source texts. */
  pieces: { index: number; at: number; from: number; length: number }[]
}
/**
 * Whether the text may contain a name or address: several words, or one word with a capital or in a non-Latin script. Excludes ids and
 * dates.
 */
const mayName = (text: string): boolean =>
  /\s/.test(text.trim()) ? /\p{L}{2}/u.test(text) : /^(?:\p{Lu}\p{Ll}{1,80}|[^\0-\x7f]{2,80})$/u.test(text)

/** Where to split a text that is too long: after a sentence or line, otherwise between words, so that names stay whole. */
function cutAt(text: string, from: number, max: number): number {
  const ends = [text.lastIndexOf('\n', max - 1), text.lastIndexOf('. ', max - 1), text.lastIndexOf('。', max - 1)]
  const last = Math.max(...ends)
  const end = last > from ? last : text.lastIndexOf(' ', max - 1)
  return end > from ? end : max
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
 * The text sent to the analyzer: our own findings and credentials are masked, and digits of trades, without changing offsets. Names next to
 * them remain detectable.
 */
function covered(text: string, ours: readonly SensitiveFinding[]): string {
  const credentials = credentialForms.flatMap(({ sign, pattern }) =>
    sign.test(text)
      ? [...text.matchAll(pattern)].map(({ 0: found, index }) => ({ start: index, end: index + found.length }))
      : [],
  )
  const hidden = over(text, [...ours, ...credentials], ({ length }) => 'x'.repeat(length))
  return /\d/.test(text) ? over(hidden, strategyDetails(text), (found) => found.replace(/\d/g, '0')) : hidden
}
/** Replaces the given ranges of the text, which may overlap. */
function over(
  text: string,
  places: readonly Pick<SensitiveFinding, 'start' | 'end'>[],
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
 * Adds the analyzer's findings to ours in bounded time. Many short texts share one request, and found data is masked. `missing` are the
 * texts that the analyzer did not answer for; they keep only our findings. Without an analyzer nothing is requested and nothing is missing.
 */
export async function withNames(
  recognise: Recognise | undefined,
  texts: readonly string[],
  ours: readonly (readonly SensitiveFinding[])[],
  language = 'en',
): Promise<{ findings: (readonly SensitiveFinding[])[]; missing: ReadonlySet<number> }> {
  if (recognise === undefined) return { findings: [...ours], missing: new Set() }
  const portions = portionsOf(texts.map((text, index) => covered(text, ours[index] ?? [])))
  const asked = portions.slice(0, maxPortions)
  const answers = await Promise.all(asked.map(({ text }) => recognise(text, language)))
  const theirs = texts.map((): RecognizedName[] => [])
  for (const [at, { pieces }] of asked.entries())
    for (const one of answers[at] ?? [])
      for (const { index, at: begin, from, length } of pieces) {
        const [start, end] = [Math.max(one.start, begin), Math.min(one.end, begin + length)]
        if (start < end) theirs[index]?.push({ ...one, start: start - begin + from, end: end - begin + from })
      }
  return {
    findings: texts.map((text, index) => mergeFindings(text, ours[index] ?? [], theirs[index] ?? [])),
    missing: new Set(
      portions.filter((_, at) => answers[at] === undefined).flatMap(({ pieces }) => pieces.map(({ index }) => index)),
    ),
  }
}

/**
 * Wraps an analyzer. While data of any agent or project must stay in a region that the analyzer is not known to be in, no text is sent to
 * it, because a text does not reveal its owner; callers see a missing answer. Once none of them exists, none can be added: their creation
 * refuses the region while this analyzer is configured.
 */
export function withheldWhile(isPromised: () => Promise<boolean>, recognise: Recognise): Recognise {
  let isNobody = false
  return async (text, language) => {
    isNobody ||= !(await isPromised())
    return isNobody ? recognise(text, language) : undefined
  }
}
