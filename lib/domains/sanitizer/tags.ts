import { ELEMENTS } from './elements.ts'
import type { Range } from './markdown-lines.ts'

/** Markdown (SKILL.md and its .md files) or plain text (every text field of a unit or SOP). */
export type Kind = 'markdown' | 'plain'
export type Cut = Range & { what: 'comment' | 'tag' }
export type Name = { word: string; end: number }

/** A token like `&&` or `-` where an attribute should stand: `i<b && c>d` compares, no browser gains anything from it. */
export const OPERATOR = /\s[^\s\w:@"'/>]/

const isLetter = (character: string): boolean =>
  (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z')

/** What the characters after `<` begin, by the tokenizer of the HTML standard (13.2.5.6 to 13.2.5.8). */
export function opening(first: string, second: string, kind: Kind): 'tag' | 'declaration' | 'instruction' | undefined {
  if (isLetter(first) || (first === '/' && isLetter(second))) return 'tag'
  if (first === '/') return kind === 'markdown' || /^\s$/.test(second) ? 'declaration' : undefined
  if (first === '!')
    return kind === 'markdown' || isLetter(second) || '[->'.includes(second) ? 'declaration' : undefined
  if (first === '?') return kind === 'markdown' || isLetter(second) ? 'instruction' : undefined
  return undefined
}

/** Whether a `<` before this character could begin markup of any kind. */
export const opensMarkup = (character: string): boolean =>
  isLetter(character) || (character !== '' && '/!?'.includes(character))

/** Whether `name` alone makes a tag: in Markdown any, in plain text those of HTML, SVG and MathML. */
export const isTagName = (name: string, kind: Kind): boolean => kind === 'markdown' || ELEMENTS.has(name.toLowerCase())

/** A comparison is only thought of where the name is one letter or no element's. */
export const mayCompare = (name: string): boolean => name.length === 1 || !ELEMENTS.has(name.toLowerCase())

/** `<<SYS>>` is no tag: stage 5 has to see it. */
export const isSystemMark = (name: string, before: string, after: string): boolean =>
  name.toLowerCase() === 'sys' && before === '<' && after === '>'

const NAME = /<\/?([A-Za-z][A-Za-z0-9:._-]{0,63})(?=[\s/>]|$)/y

/** The name of the tag that starts at `start`, when it is well formed. */
export function nameAt(text: string, start: number): Name | undefined {
  NAME.lastIndex = start
  const match = NAME.exec(text)
  return match ? { word: match[1] ?? '', end: start + match[0].length } : undefined
}
