import { stemmer } from 'stemmer'
import type { Unit } from '#lib/domains/knowledge/contract.ts'

/**
 * Splits text into words, for the index, queries, snippets and the word table. Pure and linear.
 * - Ignores case, diacritics and compatibility forms (NFKC); stems English words (Porter).
 * - Finds `readFile`, `read_file` and `HTTPServer` by their parts and as a whole (`readfile`).
 * - Chinese and Japanese have no spaces, so every character and every pair of adjacent characters is a word: a match does not depend on a
 * dictionary. Thai, Lao, Khmer and Burmese are split by `Intl.Segmenter`.
 */

/**
 * Receives one word. `step` is 0 if it shares the position of the previous word (a compound after its parts, a pair after its first
 * character). `start` and `end` are UTF-16 offsets into the text.
 */
export type WordVisitor = (word: string, start: number, end: number, step: 0 | 1) => void

/** Longer words are truncated: a `tsvector` allows 2 KB per word, and nobody searches for longer ones. */
export const longestWord = 64
/** Longer runs are data (base64, hashes) and are not split like identifiers. */
const longestIdentifier = 80
const maxParts = 12

const [none, lower, upper, digit, underscore] = [0, 1, 2, 4, 8]
const classes = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code)
  if (character >= 'a' && character <= 'z') return lower
  if (character >= 'A' && character <= 'Z') return upper
  if (character >= '0' && character <= '9') return digit
  return character === '_' ? underscore : none
})

/** Cache of recent results: words repeat, and stemming dominates the cost. Cleared when full. */
const known = new Map<string, readonly string[]>()
const maxKnown = 1 << 15

const stemmed = (word: string): string => (word.length <= 30 && /^[a-z]{3,}$/.test(word) ? stemmer(word) : word)
const cut = (word: string): string => (word.length <= longestWord ? word : word.slice(0, longestWord).toWellFormed())

/** Returns the words of a run of ASCII letters, digits and `_`: its parts, then the whole if there are several parts. */
function taken(run: string): readonly string[] {
  if (run.length > longestIdentifier) return [cut(run.replaceAll('_', '').toLowerCase() || run)]
  const parts = run.match(/[A-Z]{1,80}(?![a-z])[0-9]*|[A-Z]?[a-z0-9]+|[A-Z]/g) ?? []
  if (parts.length <= 1) return parts.map((part) => stemmed(part.toLowerCase()))
  const whole = stemmed(cut(parts.join('').toLowerCase()))
  return [...parts.slice(0, maxParts).map((part) => stemmed(part.toLowerCase())), whole]
}

function identifier(run: string, start: number, end: number, visit: WordVisitor): void {
  let words = known.get(run)
  if (words === undefined) {
    words = taken(run)
    if (run.length <= longestIdentifier) {
      if (known.size >= maxKnown) known.clear()
      // Copy the text: a slice would keep the whole source text in memory.
      known.set(Buffer.from(run, 'latin1').toString('latin1'), words)
    }
  }
  const last = words.length - 1
  if (last === 0) visit(words[0] ?? '', start, end, 1)
  else for (let at = 0; at <= last; at++) visit(words[at] ?? '', start, end, at === last ? 0 : 1)
}

const spelled: Record<string, string> = { ß: 'ss', ẞ: 'SS', æ: 'ae', Æ: 'AE', œ: 'oe', Œ: 'OE', ø: 'o', Ø: 'O', đ: 'd', Đ: 'D', ł: 'l', Ł: 'L', ı: 'i', ς: 'σ' } // biome-ignore format: a table
const folded = (text: string): string =>
  text
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]/g, '')
    .replace(/[ßẞæÆœŒøØđĐłŁıς]/g, (letter) => spelled[letter] ?? letter)
    .normalize('NFC')

const runs = /[\p{L}\p{M}\p{N}_]+/gu
const scripts =
  /(?<pairs>[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}]+)|(?<segments>[\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]+)|(?<rest>(?:(?![\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]).)+)/gsu
const segmenter = new Intl.Segmenter('th', { granularity: 'word' })

const inWords = /^[\p{L}\p{M}\p{N}_]+$/u

function pairs(text: string, start: number, visit: WordVisitor): void {
  const whole = text.normalize('NFKC')
  const isSame = whole.length === text.length
  let before: { character: string; start: number; end: number } | undefined
  let at = 0
  for (const character of whole) {
    // A compatibility form can contain other characters: ㈠ is (一).
    if (!inWords.test(character)) {
      before = undefined
      at += character.length
      continue
    }
    const from = isSame ? start + at : start
    const to = isSame ? from + character.length : start + text.length
    if (before) visit(before.character + character, before.start, to, 0)
    visit(character, from, to, 1)
    before = { character, start: from, end: to }
    at += character.length
  }
}

/** Splits a range that contains other characters than ASCII. */
function foreign(text: string, start: number, end: number, visit: WordVisitor): void {
  for (const run of text.slice(start, end).matchAll(runs))
    for (const piece of run[0].matchAll(scripts)) {
      const from = start + run.index + piece.index
      const to = from + piece[0].length
      if (piece.groups?.pairs !== undefined) pairs(piece[0], from, visit)
      else if (piece.groups?.segments !== undefined)
        for (const { segment, index } of segmenter.segment(piece[0])) {
          const word = segment.normalize('NFKC')
          if (inWords.test(word)) visit(cut(word), from + index, from + index + segment.length, 1)
        }
      else
        for (const [word] of folded(piece[0]).matchAll(runs))
          if (/^[\w]+$/.test(word)) identifier(word, from, to, visit)
          else for (const part of word.toLowerCase().split('_')) if (part !== '') visit(cut(part), from, to, 1)
    }
}

/** Typographic dashes, quotes, dots and spaces, but not the joiners used within words. */
const isPunctuation = (code: number): boolean =>
  (code >= 0x2000 && code <= 0x206f && code !== 0x200c && code !== 0x200d) || (code >= 0x3000 && code <= 0x3004) || code === 0xa0 || code === 0xfeff // biome-ignore format: a table

/** Calls `visit` for every word of the text, in order. */
export function eachWord(text: string, visit: WordVisitor): void {
  const end = text.length
  let at = 0
  while (at < end) {
    const start = at
    let code = text.charCodeAt(at)
    while (code < 128 && classes[code] !== none) code = ++at < end ? text.charCodeAt(at) : 0
    if (at >= end || code < 128 || isPunctuation(code)) {
      if (at > start) identifier(text.slice(start, at), start, at, visit)
      at++
      continue
    }
    do code = ++at < end ? text.charCodeAt(at) : 0
    while (code >= 128 ? !isPunctuation(code) : classes[code] !== none)
    foreign(text, start, at, visit)
  }
}

/** Returns the distinct words of a text. */
export function searchWordsOf(text: string): string[] {
  const words = new Set<string>()
  eachWord(text, (word) => words.add(word))
  return [...words]
}

/** Weights of PostgreSQL's text search: A for names and objectives, B for tools and domains, C for summaries, D for the rest. */
export interface WeightedText {
  weight: 'A' | 'B' | 'C' | 'D'
  text: string
}

/** Limits of a `tsvector` (PostgreSQL, "Limitations" of text search): positions up to 16,383; 1 MB of words and positions together. */
const lastPosition = 16_383
const maxBytes = 900_000
/** Maximum distinct words of one text, which bounds its size in the index. */
export const maxIndexedWords = 6_000
/** Maximum positions stored per word; more do not improve ranking. */
const maxPlaces = 16
const weights = ['A', 'B', 'C', 'D'] as const
const marks = ['A', 'B', 'C', ''] as const

/** Returns a `tsvector` in text form. Words beyond its limits or {@link maxIndexedWords} are omitted; texts with high weights are added first. */
export function searchVector(texts: readonly WeightedText[]): string {
  /** For each word its positions times 4, plus the index of their weight. */
  const places = new Map<string, number[]>()
  let position = 0
  let bytes = 0
  for (const [number, weight] of weights.entries())
    for (const one of texts) {
      if (one.weight !== weight) continue
      // Leave a gap, so that words of different texts are never adjacent.
      position = Math.min(position + 1, lastPosition)
      eachWord(one.text, (word, _start, _end, step) => {
        position = Math.min(position + step, lastPosition)
        const known = places.get(word)
        if (known === undefined) {
          // At most three bytes per UTF-16 unit, plus the overhead per word.
          bytes += word.length * 3 + 8
          if (bytes < maxBytes && places.size < maxIndexedWords) places.set(word, [position * 4 + number])
        } else if (known.length < maxPlaces && position < lastPosition) {
          bytes += 2
          known.push(position * 4 + number)
        }
      })
    }
  let vector = ''
  for (const [word, list] of places) {
    vector += `${word}:`
    for (let at = 0; at < list.length; at++) {
      const place = list[at] ?? 0
      vector += `${at > 0 ? ',' : ''}${place >> 2}${marks[place & 3]}`
    }
    vector += ' '
  }
  return vector
}

/** Maximum nesting depth that is indexed; validated units are less deep. */
const deepest = 64

/** All searchable texts of a unit, main topic first. The last part of the unit's own id is included, but no other ids and no times. */
export function weightedTextsOf(unit: Unit): WeightedText[] {
  const texts: WeightedText[] = []
  const add = (weight: WeightedText['weight'], text: string | undefined): void => {
    if (text !== undefined && text !== '') texts.push({ weight, text })
  }
  /** Collects texts, numbers and member names of payloads in any form. */
  const collect = (value: unknown, depth = 0): void => {
    if (typeof value === 'string') add('D', value)
    else if (typeof value === 'number') add('D', String(value))
    else if (typeof value !== 'object' || value === null || depth > deepest) return
    else if (Array.isArray(value)) for (const item of value) collect(item, depth + 1)
    else
      for (const [name, item] of Object.entries(value)) {
        add('D', name)
        collect(item, depth + 1)
      }
  }
  const { metadata } = unit
  add('B', metadata.task_domain)
  add('B', metadata.framework)
  add('D', unit.id?.split(':').at(-1))
  switch (unit['@type']) {
    case 'ReasoningTrace':
      add('A', unit.task.objective)
      add('B', unit.source_skill)
      for (const step of unit.steps) {
        add('D', step.content)
        add('B', step.tool?.name)
        add('B', step.tool?.mcp_server)
        collect(step.input)
        add('D', step.output_summary)
      }
      add('C', unit.outcome.result_summary)
      collect(unit.task.input_schema)
      collect(unit.knowledge_graph_delta?.entities)
      collect(unit.knowledge_graph_delta?.relationships)
      break
    case 'ToolCallPattern':
      add('A', unit.name)
      add('C', unit.description)
      for (const name of [...unit.trigger_conditions.task_types, ...(unit.trigger_conditions.required_tools ?? [])])
        add('B', name)
      for (const step of unit.tool_sequence) {
        add('D', step.condition)
        for (const tool of step.tools) {
          add('B', tool.name)
          add('D', tool.query_template)
          collect(tool.input_template)
        }
      }
      break
    case 'ExpertSOP':
      add('A', unit.name)
      add('B', unit.domain)
      add('D', unit.source.expert_id)
      collect(unit.source.credentials)
      for (const step of unit.decision_tree) {
        if (typeof step.step === 'string') add('D', step.step)
        add('C', step.instruction)
        collect(step.criteria)
        collect(step.conditions)
        for (const tool of step.tool_suggestions ?? []) {
          add('B', tool.name)
          add('D', tool.when)
        }
      }
      collect(unit.validation?.test_cases)
  }
  return texts
}
