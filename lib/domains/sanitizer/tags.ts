import type { Removal } from './gaps.ts'

/** Markdown (SKILL.md and its .md files), prose (every text field of a unit or SOP), or code (other files, recorded arguments). */
export type TextKind = 'markdown' | 'plain' | 'code'
export type Cut = Removal & { what: 'comment' | 'tag' }
export type Name = { word: string; end: number }

/** A token like `&&` or `and` in place of an attribute: `i<b && c>d` is a comparison, and harmless as markup. */
const OPERATOR =
  /\s(?:[^\s\w:@"'/>]|(?:and|or|not|in|is|if|else|then|when|like|between|extends|super|implements|as|keyof|typeof|readonly|const|infer)\s)/i
/** Operators that occur beside quoted values: `A<B AND NAME='x' AND C>D`. */
const LOGIC = /\s(?:and|or|&&|\|\|)\s/i
/** Attributes with a value that could be active: on some elements, and on any. */
export const RISKY =
  /[\s/"'](?:on[^\s"'>/=]+|(?:xlink:)?href|src|srcset|srcdoc|style|data|action|formaction|cite|ping)\s*=/i
export const RISKY_ANYWHERE = /[\s/"'](?:on[^\s"'>/=]+|style)\s*=/i
export const QUOTED_VALUE = /=\s*["']/

/** Whether the UTF-16 unit is an ASCII letter. */
const isLetter = (code: number): boolean => (code >= 97 && code <= 122) || (code >= 65 && code <= 90)

const SPACE = 32
const EXCLAMATION = 33
const DASH = 45
const DOT = 46
const SLASH = 47
const GREATER = 62
const QUESTION = 63
const BACKSLASH = 92
const UNDERSCORE = 95

/**
 * The markup that the two UTF-16 units after `<` begin, by the tokenizer of the HTML standard (13.2.5.6 to 13.2.5.8). A unit is NaN at the
 * end of the text.
 */
export function opening(
  first: number,
  second: number,
  kind: TextKind,
): 'tag' | 'declaration' | 'instruction' | undefined {
  if (isLetter(first) || (first === SLASH && isLetter(second))) return 'tag'
  if (first === SLASH)
    return kind === 'markdown' || /^\s$/.test(String.fromCharCode(second)) ? 'declaration' : undefined
  if (first === EXCLAMATION) {
    const isDeclaration =
      kind === 'markdown' || isLetter(second) || Number.isNaN(second) || '[->'.includes(String.fromCharCode(second))
    return isDeclaration ? 'declaration' : undefined
  }
  if (first === QUESTION) return kind === 'markdown' || isLetter(second) ? 'instruction' : undefined
  return undefined
}

/** Whether a `<` before this UTF-16 unit could begin any markup. */
export const opensMarkup = (code: number): boolean =>
  isLetter(code) || code === SLASH || code === EXCLAMATION || code === QUESTION

const HTML = `a abbr acronym address applet area article aside audio b base basefont bdi bdo bgsound big blink blockquote
body br button canvas caption center cite code col colgroup content data datalist dd del details dfn dialog dir div dl dt
element em embed fencedframe fieldset figcaption figure font footer form frame frameset h1 h2 h3 h4 h5 h6 head header
hgroup hr html i iframe image img input ins isindex kbd keygen label legend li link listing main map mark marquee menu
menuitem meta meter multicol nav nextid nobr noembed noframes noscript object ol optgroup option output p param picture
plaintext portal pre progress q rb rbc rp rt rtc ruby s samp script search section select selectedcontent shadow slot
small source spacer span strike strong style sub summary sup svg table tbody td template textarea tfoot th thead time
title tr track tt u ul var video wbr xmp`

const SVG = `altglyph altglyphdef altglyphitem animate animatecolor animatemotion animatetransform circle clippath
color-profile cursor defs desc discard ellipse feblend fecolormatrix fecomponenttransfer fecomposite feconvolvematrix
fediffuselighting fedisplacementmap fedistantlight fedropshadow feflood fefunca fefuncb fefuncg fefuncr fegaussianblur
feimage femerge femergenode femorphology feoffset fepointlight fespecularlighting fespotlight fetile feturbulence filter
font-face font-face-format font-face-name font-face-src font-face-uri foreignobject g glyph glyphref handler hatch
hatchpath hkern line lineargradient listener marker mask mesh meshgradient meshpatch meshrow metadata missing-glyph mpath
path pattern polygon polyline radialgradient rect set solidcolor stop switch symbol tbreak text textpath tref tspan
unknown use view vkern`

const MATHML = `annotation annotation-xml maction maligngroup malignmark math menclose merror mfenced mfrac mglyph mi
mlabeledtr mlongdiv mmultiscripts mn mo mover mpadded mphantom mprescripts mroot mrow ms mscarries mscarry msgroup msline
mspace msqrt msrow mstack mstyle msub msubsup msup mtable mtd mtext mtr munder munderover none semantics`

/**
 * Names of the elements of HTML (including obsolete ones that browsers know), SVG 1.1 and 2, and the presentation elements of MathML, in
 * lower case. MathML's content elements (`<int>`, `<list>`, `<vector>` …) are omitted: no browser knows them, and they are common words in
 * code.
 */
export const ELEMENTS: ReadonlySet<string> = new Set(`${HTML} ${SVG} ${MATHML}`.split(/\s+/))

/** Whether the name is that of an HTML, SVG or MathML element, which makes it a tag without further checks. */
export const isTagName = (name: string): boolean => ELEMENTS.has(name.toLowerCase())

/** Elements whose text a browser parses differently or executes. */
const RAW = new Set(
  'script style iframe textarea xmp plaintext noscript noembed noframes svg math frameset foreignobject'.split(' '),
)
/** Elements that are also words or type names, and harmless without attributes: `Promise<unknown>`, `cp <source> <path>`. */
const WORDS = new Set(
  `abbr address annotation applet area article aside audio base body button canvas caption center cite circle code col
color-profile content cursor data datalist defs del desc details dialog dir discard element ellipse embed figure filter font
footer form frame glyph handler hatch header image input ins label legend line link listener listing main map mark marker mask
menu menuitem mesh metadata ms meta meter mpath nav none object optgroup option output param path pattern picture polygon
polyline portal progress rect samp search section select semantics set shadow slot source spacer stop sub summary switch symbol
table template text time title track unknown use var video view`.split(/\s+/),
)
/**
 * Elements that are also adjectives and nouns: `<small number>`, `<head commit>`. Without other words, or with a name of an attribute, they
 * are markup.
 */
const WORDS_BEFORE_WORDS = new Set(['big', 'small', 'strong', 'blink', 'head'])
const LINE_BREAKS = new Set('BR HR WBR NOBR LI TD TR TH DT DD UL OL IMG DIV'.split(' '))
/** Attributes without values. A tag that has no others is markup. */
const BOOLEANS = new Set(
  `allowfullscreen async autofocus autoplay checked compact contenteditable controls crossorigin declare default defer disabled
download draggable formnovalidate hidden inert ismap itemscope loop multiple muted nohref nomodule noresize noshade novalidate
nowrap open playsinline popover readonly required reversed selected`.split(/\s+/),
)
/** Attributes that every element has, and those of the elements in {@link WORDS_BEFORE_WORDS}. */
const ATTRIBUTES =
  /^(?:on.*|accesskey|align|anchor|autocapitalize|autocorrect|class|clear|cite|color|dir|enterkeyhint|exportparts|face|height|href|id|inputmode|is|item(?:id|prop|ref|type)|lang|name|nonce|part|profile|rel|role|size|slot|spellcheck|src|style|tabindex|target|title|translate|type|value|width|writingsuggestions|xmlns)$/i
const isAttribute = (word: string): boolean => ATTRIBUTES.test(word) || BOOLEANS.has(word.toLowerCase())
const isCapital = (name: string): boolean => name.charCodeAt(0) >= 65 && name.charCodeAt(0) <= 90
const isRaw = (name: string): boolean => RAW.has(name.toLowerCase())
const isWordOrType = (name: string): boolean => WORDS.has(name) || (isCapital(name) && !LINE_BREAKS.has(name))

/** A start or end tag in its text. */
type Tag = {
  name: string
  isClosing: boolean
  /** Whether the text closes this element anywhere. */
  isClosed: boolean
  /** Up to four characters before its `<`, and the character after its `>`. */
  before: string
  after: string
  /** The text after its name up to its `>` or the next `<`. */
  portion: string
  /** Whether it has nothing but its name. */
  isBare: boolean
  /** Whether the text up to its `>` has an attribute of {@link RISKY}, {@link RISKY_ANYWHERE} or {@link QUOTED_VALUE}. */
  isRisky: boolean
  isRiskyAnywhere: boolean
  isQuoted: boolean
}

/**
 * Whether the tag is part of a sentence or of code rather than markup, although a browser knows the element: a comparison (`a<b && c>d`), a
 * placeholder (`<source> <path>`, `<time in seconds>`), a type argument, or a group name in a regular expression. It is then harmless as
 * markup too: it has no attribute with a value that could be active, and it does not change how the following text is parsed. An escaped
 * tag is prose unless it could be active, because not every program reads the escape.
 */
export function isProse(tag: Tag, isEscaped: boolean): boolean {
  const { name, isClosing, isClosed, portion } = tag
  if (isRaw(name)) return false
  if (isEscaped && !tag.isRisky) return true
  if (tag.isBare) return !isClosing && !isClosed && isTypeOrPlaceholder(name, tag.before, tag.after)
  const isOneLetter = name.length === 1
  if (WORDS_BEFORE_WORDS.has(name))
    return !isClosing && !isClosed && /^[\p{L}\p{N}\s]+$/u.test(portion) && !portion.split(/\s+/).some(isAttribute)
  if (!isOneLetter && !isWordOrType(name) && !/^[A-Z]+$/.test(name)) return false
  if (isOneLetter && name !== 'a' ? tag.isRiskyAnywhere : tag.isRisky) return false
  if (tag.isQuoted) return LOGIC.test(portion.replace(/"[^"]*"|'[^']*'/g, ''))
  if (OPERATOR.test(portion)) return true
  if (isClosing || portion.includes('=')) return false
  const words = portion.match(/[\w-]+/g) ?? []
  if (isClosed && words.length < 2) return false
  return words.some((word) => !BOOLEANS.has(word.toLowerCase())) && !words.some((word) => /^hidden$/i.test(word))
}

/** Whether a start tag without attributes is a type argument, a group name in a regular expression, or a placeholder. */
function isTypeOrPlaceholder(name: string, before: string, after: string): boolean {
  if (/(?:\(\?P?|\\[kgK])$/.test(before)) return true
  if (isWordOrType(name)) return true
  // `f<s>(x)`, `a<b>::type`, `Vec<Vec<s>>`
  return name.length === 1 && after !== '' && '(:>'.includes(after) && /[\w$:]$/.test(before)
}

/** Whether a backslash escapes the `<` at `at`: a reader of Markdown sees the tag. */
export function isEscaped(text: string, at: number): boolean {
  let slashes = 0
  while (text.charCodeAt(at - 1 - slashes) === BACKSLASH) slashes += 1
  return slashes % 2 === 1
}

/** `<<SYS>>` is not treated as a tag, so that stage 5 sees it. */
export const isSystemMark = (name: string, before: string, after: string): boolean =>
  name.toLowerCase() === 'sys' && before === '<' && after === '>'

const MOST_NAME = 64
/** `[A-Za-z0-9:._-]` */
export const isNamePart = (code: number): boolean =>
  isLetter(code) || (code >= 48 && code <= 58) || code === DOT || code === DASH || code === UNDERSCORE

/** The name of the tag that starts at `start`, if it is well-formed: at most 64 characters, then white space, `/`, `>` or the end. */
export function nameAt(text: string, start: number): Name | undefined {
  const first = text.charCodeAt(start + 1) === SLASH ? start + 2 : start + 1
  if (!isLetter(text.charCodeAt(first))) return undefined
  let end = first + 1
  while (end - first < MOST_NAME && isNamePart(text.charCodeAt(end))) end += 1
  const next = text.charCodeAt(end)
  if (next !== SPACE && next !== GREATER && next !== SLASH && end < text.length && !/^\s$/.test(text.charAt(end)))
    return undefined
  return { word: text.slice(first, end), end }
}

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
