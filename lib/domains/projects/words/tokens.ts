/** One word of a text, or one character of a script that is written without spaces. */
export interface WordToken {
  /** Folded: NFKC (Unicode compatibility forms), lower case, without apostrophes. */
  word: string
  /** UTF-16 offsets in the original text; `end` is exclusive. */
  start: number
  end: number
  /** See {@link runWeight}. */
  weight: number
}

/**
 * Minimum weight of a run: six words (4 each), or 24 characters of a script without spaces (1 each). In a mixed text the weights are added.
 */
export const runWeight = 24
export const wordWeight = 4

export const unspaced =
  '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}\\p{Script=Myanmar}\\p{Script=Tibetan}'
export const isWithinWord = `[[\\p{L}\\p{N}]--[${unspaced}]]`
const tokenPattern = new RegExp(`[${unspaced}]|${isWithinWord}(?:['’]?(?:${isWithinWord}|\\p{M}))*`, 'gv')
const isUnspaced = new RegExp(`^[${unspaced}]`, 'v')

const isAscii = /^[\0-\x7f]*$/
const asciiPattern = /[a-z0-9]+(?:'[a-z0-9]+)*/g

/** {@link tokenize} for ASCII, four times as fast. Most texts are ASCII. */
function tokenizeAscii(text: string): WordToken[] {
  const tokens: WordToken[] = []
  for (const { 0: found, index } of text.toLowerCase().matchAll(asciiPattern)) {
    const word = found.includes("'") ? found.replaceAll("'", '') : found
    tokens.push({ word, start: index, end: index + found.length, weight: wordWeight })
  }
  return tokens
}

/** The words of a text in order. Punctuation, symbols, isolated marks and spaces are not words. */
export function tokenize(text: string): WordToken[] {
  if (isAscii.test(text)) return tokenizeAscii(text)
  const tokens: WordToken[] = []
  for (const { 0: found, index } of text.matchAll(tokenPattern))
    tokens.push({
      word: found.normalize('NFKC').toLowerCase().replace(/['’]/g, ''),
      start: index,
      end: index + found.length,
      weight: isUnspaced.test(found) ? 1 : wordWeight,
    })
  return tokens
}

/** Exclusive end of the shortest run that starts at a token; undefined if the text ends before. */
export function endOfRun(tokens: readonly WordToken[], from: number, least = runWeight): number | undefined {
  let weight = 0
  for (let at = from; at < tokens.length; at++) {
    weight += tokens[at]?.weight ?? 0
    if (weight >= least) return at + 1
  }
  return undefined
}

/**
 * Adjacent pieces of half a run, in the text's own spelling, for queries of a full-text index. Every run of the text contains a complete
 * piece, unless it mixes scripts.
 */
export function halfRuns(text: string): string[] {
  const tokens = tokenize(text)
  const pieces: string[] = []
  for (let from = 0; from < tokens.length; ) {
    const end = endOfRun(tokens, from, runWeight / 2)
    if (end === undefined) break
    pieces.push(text.slice(tokens[from]?.start, tokens[end - 1]?.end))
    from = end
  }
  return pieces
}
