import { ELEMENTS } from './elements.ts'
import type { Range } from './markdown-lines.ts'

/** Markdown (SKILL.md and its .md files), prose (every text field of a unit or SOP), or code (other files, recorded arguments). */
export type TextKind = 'markdown' | 'plain' | 'code'
export type Cut = Range & { what: 'comment' | 'tag' }
export type Name = { word: string; end: number }

/** A token like `&&` or `and` in place of an attribute: `i<b && c>d` is a comparison, and harmless as markup. */
export const OPERATOR =
  /\s(?:[^\s\w:@"'/>]|(?:and|or|not|in|is|if|else|extends|super|implements|as|keyof|typeof|readonly|const|infer)\s)/

const isLetter = (character: string): boolean =>
  (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z')

/** The markup that the characters after `<` begin, by the tokenizer of the HTML standard (13.2.5.6 to 13.2.5.8). */
export function opening(
  first: string,
  second: string,
  kind: TextKind,
): 'tag' | 'declaration' | 'instruction' | undefined {
  if (isLetter(first) || (first === '/' && isLetter(second))) return 'tag'
  if (first === '/') return kind === 'markdown' || /^\s$/.test(second) ? 'declaration' : undefined
  if (first === '!')
    return kind === 'markdown' || isLetter(second) || '[->'.includes(second) ? 'declaration' : undefined
  if (first === '?') return kind === 'markdown' || isLetter(second) ? 'instruction' : undefined
  return undefined
}

/** Whether a `<` before this character could begin any markup. */
export const opensMarkup = (character: string): boolean =>
  isLetter(character) || (character !== '' && '/!?'.includes(character))

/** Whether the name is that of an HTML, SVG or MathML element, which makes it a tag without further checks. */
export const isTagName = (name: string): boolean => ELEMENTS.has(name.toLowerCase())

/** Elements whose text a browser parses differently or executes. */
const RAW =
  /^(?:script|style|iframe|textarea|title|xmp|plaintext|noscript|noembed|noframes|template|svg|math|frameset)$/
/** Elements that are also words or type names, and harmless without attributes: `Promise<unknown>`, `cp <source> <path>`. */
const WORDS = new Set(
  `address area article aside audio base body canvas caption cite code content data desc details dialog element figure filter
footer form frame glyph handler header image input label legend line link listener listing main map mark marker mask menu mesh
metadata ms meta meter object optgroup option output param path pattern picture polygon portal progress rect samp search
section select set slot source spacer stop summary switch symbol table text time track unknown use var video view`.split(
    /\s+/,
  ),
)
const LINE_BREAKS = /^(?:BR|HR|WBR|NOBR|LI|TD|TR|TH|DT|DD|UL|OL|IMG|DIV)$/

/**
 * Whether a start tag without attributes, whose element is never closed in the text, is a type argument, a group name in a regular
 * expression, or a placeholder. `before` is the text before it, `after` the character after it.
 */
export function isTypeOrPlaceholder(name: string, before: string, after: string): boolean {
  if (/^(?:script|style)$/i.test(name) || RAW.test(name)) return false
  if (/(?:\(\?P?|\\[kgK])$/.test(before)) return true
  if (isWordOrType(name)) return true
  if (/^[A-Z]/.test(name)) return false
  return name.length === 1 && /[\w$:]$/.test(before) && after === '('
}

/** Whether it can be a comparison or a type: the name has one letter, is a word or type name, or is not an element. */
export const mayCompare = (name: string): boolean =>
  name.length === 1 || !ELEMENTS.has(name.toLowerCase()) || (isWordOrType(name) && !RAW.test(name.toLowerCase()))
const isWordOrType = (name: string): boolean => WORDS.has(name) || (/^[A-Z]/.test(name) && !LINE_BREAKS.test(name))

/** `<<SYS>>` is not treated as a tag, so that stage 5 sees it. */
export const isSystemMark = (name: string, before: string, after: string): boolean =>
  name.toLowerCase() === 'sys' && before === '<' && after === '>'

const NAME = /<\/?([A-Za-z][A-Za-z0-9:._-]{0,63})(?=[\s/>]|$)/y

/** The name of the tag that starts at `start`, if it is well-formed. */
export function nameAt(text: string, start: number): Name | undefined {
  NAME.lastIndex = start
  const match = NAME.exec(text)
  return match ? { word: match[1] ?? '', end: start + match[0].length } : undefined
}

/** A placeholder of several words: `<source file>`. */
export const isPlaceholderWith = (name: string, rest: string): boolean =>
  WORDS.has(name) && /^(?: [a-z][\w-]{0,30}){1,3}$/i.test(rest) && !/ on\w*$/i.test(rest)

/** Names of elements that the text closes anywhere. */
export const closedNames = (text: string): ReadonlySet<string> =>
  new Set(
    text.includes('</')
      ? Array.from(text.matchAll(/<\/([A-Za-z][\w:.-]{0,63})/g), ([, name]) => (name ?? '').toLowerCase())
      : [],
  )

const NEGATION = /^(?:\?<!(?!--)|\w<!\w+(?:<|::|\())/
/** A lookbehind `(?<!…)`, or a negated type argument `enable_if_t<!is_array<T>::value>`. */
export const isNegation = (text: string, at: number): boolean =>
  at > 0 && NEGATION.test(text.slice(at - 1, at + 64)) && !text.startsWith('<![CDATA[', at)
