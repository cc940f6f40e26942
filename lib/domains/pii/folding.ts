/** First digit of each decimal system in Unicode's basic plane besides ASCII. */
const zeros = [
  0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6, 0xe50, 0xed0, 0xf20,
  0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50, 0x1bb0, 0x1c40, 0x1c50, 0xa620, 0xa8d0,
  0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0,
]
const escaped = (code: number): string => `\\u${code.toString(16).padStart(4, '0')}`
const digits = zeros.map((zero) => `${escaped(zero)}-${escaped(zero + 9)}`).join('')
/** Digits of other scripts, signs of full width, and the hyphens and dots that people write in numbers. */
const foldable = new RegExp(`[${digits}\\uff01-\\uff5e\\u2212\\ufe63\\ufe55\\ufe6b]`)
const runs = new RegExp(`${foldable.source}+`, 'g')
/** A long vowel sign as a hyphen between digits. */
const betweenDigits = /(?<=[0-9])[\u30fc\u2500\u4e00](?=[0-9])/g

const plain = new Map<number, string>([
  [0x2212, '-'],
  [0xfe63, '-'],
  [0xfe55, ':'],
  [0xfe6b, '@'],
])
for (const zero of zeros) for (let value = 0; value < 10; value++) plain.set(zero + value, String(value))
for (let code = 0xff01; code < 0xff5f; code++) plain.set(code, String.fromCharCode(code - 0xfee0))

/**
 * The text with digits of other scripts and signs of full width in ASCII. Replaces each unit by one unit, so offsets stay valid; returns
 * the text itself if it has none of them.
 */
export function folded(text: string): string {
  if (!foldable.test(text)) return text
  const written = text.replace(runs, (run) => {
    let changed = ''
    for (let at = 0; at < run.length; at++) changed += plain.get(run.charCodeAt(at)) ?? run.charAt(at)
    return changed
  })
  return written.replace(betweenDigits, '-')
}
