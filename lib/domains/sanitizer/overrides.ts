import { type OverrideWords, overrideWords } from './override-words.ts'

const GAP = '[\\s*`"\'>,:]{1,8}'
const within = '[\\s*`"\'「」『』“”，,]{0,3}'

/** Accents, invisible characters, Arabic vowel signs and the tatweel. */
const ACCENTS = /[\u0300-\u036f\u064b-\u065f\u0670\u0640\p{Cf}]/gu
const NOT_ASCII = /[^\0-\x7f]/
/** Lower case without accents, invisible characters and full-width forms: people omit accents. */
const plain = (text: string): string =>
  NOT_ASCII.test(text) ? text.toLowerCase().normalize('NFKD').replace(ACCENTS, '') : text.toLowerCase()
function placeOf(text: string, offset: number): number {
  if (!NOT_ASCII.test(text)) return offset
  let position = 0
  let copied = 0
  for (const character of text) {
    copied += plain(character).length
    if (copied > offset) return position
    position += character.length
  }
  return position
}

function patternOf({ verbs, prior, orders, fill, verbsLast, split, verbLast, joined }: OverrideWords): string {
  const [verb, before, order, other] = [verbs, prior, orders, fill].map((words) => `(?:${plain(words)})`)
  const gap = joined ? within : GAP
  const some = (most: number) => `(?:${other}${gap}){0,${most}}`
  const told = `(?:${before}${gap}${some(5)}${order}|${order}${gap}${some(6)}${before})`
  const inWord = joined ? '' : '(?<![\\p{L}\\p{N}_-])'
  const endWord = joined ? '' : '(?![\\p{L}\\p{N}_-])'
  if (verbLast) return `${inWord}${told}${gap}${some(6)}${verb}`
  const patterns = [`${inWord}${verb}${gap}${some(6)}${told}${endWord}`]
  if (verbsLast) patterns.push(`${inWord}${told}${gap}${some(6)}(?:${plain(verbsLast)})${endWord}`)
  if (split)
    patterns.push(
      `${inWord}(?:${plain(split.verbs)})${gap}${some(6)}${told}${gap}${some(2)}(?:${plain(split.parts)})${endWord}`,
    )
  return patterns.join('|')
}

const allVerbs = ({ verbs, verbsLast, split }: OverrideWords) =>
  [verbs, verbsLast, split?.verbs].filter((words) => words !== undefined).join('|')

const OVERRIDES = overrideWords.map((words) => ({
  pattern: new RegExp(patternOf(words), 'gu'),
  /** Quick check: without one of these the pattern cannot match. */
  sign: new RegExp(`(?:${plain(words.orders)})`, 'u'),
  verb: new RegExp(`(?:${plain(allVerbs(words))})`, 'u'),
  isLatin: /^[a-z]/.test(plain(words.verbs)),
}))

/** Beginnings of the verbs in Latin letters that English text rarely contains: one check instead of one per language. */
const LATIN_VERB =
  /ignor|olvid|desestim|descart|omit[ea]\b|anul[aei]|annul|sobres|salta|incumpl|desob|desoy|elimin|pas[ae] por|pass?e[sz]? (?:outre|por)|prescind|\b(?:haz|haga|hacer) caso|\bno (?:hag|sig|teng|obed)|\bdej[ae]|invalid[ae]|borra|oubli|neglig|outrep|contourn|enfrein|ecart|abandon|efface|supprim|\bf(?:ais|aites|aire) (?:fi|abs)|\bne (?:t|s|r)|\b(?:cess|arret)|\blaisse|\bmet(?:s|tez)\b|vergiss|vergess|missacht|mißacht|ubergeh|verwirf|verwerf|uberschreib|umgeh|streich|losch|widers|widerr|brech|befolg|beacht|\bfolg|halte dich|sieh ab|sehen sie|pfeif|\blass|\bsetz|\bheb|schieb|\bwirf|\bleg|berucks|esque|desconsider|desprez|substitu|sobresc|contorn|apag|revog|\bviol|burl|\bnao |\bpare de|\bdeix|\bfaca|\bpass|\bponha|\bcoloque|\bpon\b|ausser|außer/
const OTHERS = OVERRIDES.filter(({ isLatin }) => !isLatin)

/** A copy of the text for comparison, and the orders found in it. */
export type Overrides = { copy: string; found: { start: number; end: number }[]; placeOf: (offset: number) => number }

/** Finds orders to ignore previous instructions in languages other than English. */
export function findOverrides(text: string): Overrides {
  const copy = plain(text)
  const found: Overrides['found'] = []
  const isLatin = LATIN_VERB.test(copy)
  if (isLatin || NOT_ASCII.test(copy)) {
    for (const { pattern, sign, verb } of isLatin ? OVERRIDES : OTHERS) {
      if (!verb.test(copy) || !sign.test(copy)) continue
      for (const { 0: order, index } of copy.matchAll(pattern)) found.push({ start: index, end: index + order.length })
    }
  }
  return { copy, found, placeOf: (offset) => placeOf(text, offset) }
}
