import type { Json } from '#lib/client/sealing/encoding.ts'

/** Milliseconds without anybody at the page after which an open grimoire locks itself. */
export const idleFor = 15 * 60_000
export const isIdle = (last: number, now: number): boolean => now - last >= idleFor

/** Signs that a passphrase has at least, counted as its key is made of it. */
export const fewestSigns = 12
export const isWeak = (passphrase: string): boolean => [...passphrase.normalize('NFKC')].length < fewestSigns

const snippetLength = 140
/** What an entry says, whatever its form, on one line. */
export function firstWords(content: unknown): string {
  const text = (typeof content === 'string' ? content : (JSON.stringify(content) ?? '')).replace(/\s+/g, ' ').trim()
  const signs = [...text]
  return signs.length > snippetLength ? `${signs.slice(0, snippetLength).join('')}…` : text
}
/** As it is read: text as it was written, anything else as indented JSON. */
export const wholeText = (content: unknown): string =>
  typeof content === 'string' ? content : (JSON.stringify(content, null, 2) ?? '')

const longestTag = 64
const mostTags = 32
/** Tags as they are typed: by commas, each once; undefined where they are too long or too many. */
export function tagsIn(typed: string): string[] | undefined {
  const tags = [...new Set(typed.split(/[,，、]/).map((tag) => tag.trim()))].filter((tag) => tag !== '')
  return tags.length <= mostTags && tags.every((tag) => tag.length <= longestTag) ? tags : undefined
}

const longestParent = 200
const mostParents = 100
/** Ids as they are typed: by commas or spaces, each once; undefined where they are too long or too many. */
export function parentsIn(typed: string): string[] | undefined {
  const ids = [...new Set(typed.split(/[,，、\s]+/))].filter((id) => id !== '')
  return ids.length <= mostParents && ids.every((id) => id.length <= longestParent) ? ids : undefined
}

/** As it is typed over: nothing where nothing was said. */
export const typedOf = (value: unknown): string => (value === null ? '' : wholeText(value))
/** What was typed in the place of `before`: that itself where nobody touched it, JSON where it was JSON, null for nothing; undefined: a slip in JSON. */
export function valueIn(typed: string, before: Json): Json | undefined {
  if (typed === typedOf(before)) return before
  const text = typed.trim()
  if (text === '') return null
  if (before === null || typeof before === 'string') return text
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A number from 0 to 1; null where nothing was typed, undefined for what is none. */
export function confidenceIn(typed: string): number | null | undefined {
  const text = typed.trim().replace(',', '.')
  if (text === '') return null
  const value = Number(text)
  return value >= 0 && value <= 1 ? value : undefined
}
