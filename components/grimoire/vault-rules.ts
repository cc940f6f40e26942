import type { SealedJson } from '#lib/client/sealing/encoding.ts'

/** Milliseconds without activity after which an open grimoire locks. */
export const idleFor = 15 * 60_000
export const isIdle = (last: number, now: number): boolean => now - last >= idleFor

/** The fewest characters of a passphrase, counted in NFKC, which key derivation uses. */
export const shortestPassphrase = 12
export const isWeak = (passphrase: string): boolean => [...passphrase.normalize('NFKC')].length < shortestPassphrase

const snippetLength = 140
/** The content of an entry as one shortened line. */
export function shortTextOf(content: unknown): string {
  const text = (typeof content === 'string' ? content : (JSON.stringify(content) ?? '')).replace(/\s+/g, ' ').trim()
  const signs = [...text]
  return signs.length > snippetLength ? `${signs.slice(0, snippetLength).join('')}…` : text
}
/** The full content: text unchanged, any other value as indented JSON. */
export const wholeText = (content: unknown): string =>
  typeof content === 'string' ? content : (JSON.stringify(content, null, 2) ?? '')

const longestTag = 64
const maxTags = 32
/** Parses tags separated by commas and removes duplicates; undefined if a tag is too long or there are too many. */
export function tagsIn(typed: string): string[] | undefined {
  const tags = [...new Set(typed.split(/[,，、]/).map((tag) => tag.trim()))].filter((tag) => tag !== '')
  return tags.length <= maxTags && tags.every((tag) => tag.length <= longestTag) ? tags : undefined
}

const longestParent = 200
const maxParents = 100
/** Parses ids separated by commas or spaces and removes duplicates; undefined if an id is too long or there are too many. */
export function parentsIn(typed: string): string[] | undefined {
  const ids = [...new Set(typed.split(/[,，、\s]+/))].filter((id) => id !== '')
  return ids.length <= maxParents && ids.every((id) => id.length <= longestParent) ? ids : undefined
}

/** The text that a form field shows for a value; empty for null. */
export const fieldTextOf = (value: unknown): string => (value === null ? '' : wholeText(value))
/**
 * The value that was typed in place of `before`: `before` itself if unedited, parsed JSON if `before` was JSON, null for an empty field;
 * undefined for invalid JSON.
 */
export function valueIn(typed: string, before: SealedJson): SealedJson | undefined {
  if (typed === fieldTextOf(before)) return before
  const text = typed.trim()
  if (text === '') return null
  if (before === null || typeof before === 'string') return text
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Parses a number from 0 to 1; null for an empty field, undefined for anything else. */
export function confidenceIn(typed: string): number | null | undefined {
  const text = typed.trim().replace(',', '.')
  if (text === '') return null
  const value = Number(text)
  return value >= 0 && value <= 1 ? value : undefined
}
