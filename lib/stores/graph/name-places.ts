import { redacted } from './graph.ts'

/** Han, Kana, Hangul; Thai, Lao, Burmese, Khmer: a name may stand in the midst of a word. */
const isWordless =
  /[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\u{20000}-\u{3ffff}]/u

/** A name as it is looked for in texts: whole words, whatever their case and the space between them; in scripts without spaces, anywhere. */
export interface SoughtName {
  isIn(text: string): boolean
  redact(text: string): string
}
export function nameIn(name: string): SoughtName {
  const words = name.trim().split(/\s+/).map(RegExp.escape).join('\\s+')
  const letters = [...name.trim()]
  const [first, last] = [letters[0] ?? '', letters.at(-1) ?? '']
  const before = isWordless.test(first) ? '' : '(?<![\\p{L}\\p{N}])'
  const after = isWordless.test(last) ? '' : '(?![\\p{L}\\p{N}])'
  const pattern = new RegExp(`${before}${words}${after}`, 'giu')
  return {
    isIn: (text) => text.search(pattern) >= 0,
    redact: (text) => text.replace(pattern, redacted),
  }
}

/** The same with the name taken out of every text in it, keys too. */
export function redactDeep(value: unknown, name: SoughtName): unknown {
  if (typeof value === 'string') return name.redact(value)
  if (Array.isArray(value)) return value.map((inner) => redactDeep(inner, name))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [name.redact(key), redactDeep(inner, name)]))
}
