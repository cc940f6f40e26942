import { type WordToken, wordWeight } from '#lib/text/words.ts'

// The words of fingerprints that were stored before the format had a version. They must stay as they are: the erased texts no longer
// exist, so these fingerprints cannot be made again.

const unspaced =
  '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}\\p{Script=Myanmar}\\p{Script=Tibetan}'
const isWithinWord = `[[\\p{L}\\p{N}]--[${unspaced}]]`
const tokenPattern = new RegExp(`[${unspaced}]|${isWithinWord}(?:['’]?(?:${isWithinWord}|\\p{M}))*`, 'gv')
const isUnspaced = new RegExp(`^[${unspaced}]`, 'v')

const isAscii = /^[\0-\x7f]*$/
const asciiPattern = /[a-z0-9]+(?:'[a-z0-9]+)*/g

/** {@link formerTokens} for ASCII. */
function tokenizeAscii(text: string): WordToken[] {
  const tokens: WordToken[] = []
  for (const { 0: found, index } of text.toLowerCase().matchAll(asciiPattern)) {
    const word = found.includes("'") ? found.replaceAll("'", '') : found
    tokens.push({ word, start: index, end: index + found.length, weight: wordWeight })
  }
  return tokens
}

/** The words of a text in order, folded by lower case and compatibility forms only. */
export function formerTokens(text: string): WordToken[] {
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
