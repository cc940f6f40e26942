import { redacted } from './graph.ts'

/** Scripts in which a name may be part of a longer run of letters: Han, Kana, Hangul, Thai, Lao, Burmese, Khmer. */
const isWordless =
  /[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\u{20000}-\u{3ffff}]/u

/** Finds a name in texts: whole words in any case and with any space between them; in scripts without spaces, anywhere. */
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

/** Returns the value with the name removed from every text in it, including keys. */
export function redactDeep(value: unknown, name: SoughtName): unknown {
  if (typeof value === 'string') return name.redact(value)
  if (Array.isArray(value)) return value.map((inner) => redactDeep(inner, name))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [name.redact(key), redactDeep(inner, name)]))
}
