import type { LayerBuilder, Span } from './layer.ts'

/** Elements of BBCode, and those that separate words. */
const boardElement =
  'b|i|u|s|url|img|quote|code|color|size|font|center|left|right|list|li|spoiler|email|sub|sup|table|tr|td|th|indent|align|h[1-6]|user|' +
  'mention|strike|highlight|noparse|video|media|post|thread|background|bg'
const board = new RegExp(`\\[(/?)(${boardElement})(?:=([^\\]\\n]{0,300})|(?: [a-z]+=[^\\]\\n]{0,300}))?\\]`, 'iy')
/** An element with a value in quotation marks: a list has no such item. It may be closed in another part of the text. */
const openingWithValue = new RegExp(`^\\[(?:${boardElement})=(["'])[^[\\]\\n"']{0,300}\\1\\]$`, 'i')
export const isOpeningOfBoard = (text: string, { start, end }: Span): boolean =>
  openingWithValue.test(text.slice(start, end))
const boardBlock = /^(?:quote|code|center|left|right|list|li|table|tr|td|th|indent|align|h[1-6])$/
const closesBoard = new RegExp(`\\[/(${boardElement})\\]`, 'gi')
const url = '(?:https?|ftp|mailto|tel|file|slack|tg|discord|ircs?|www)[:.]'
const wikiLink = /\[\[([^[\]|\n]{1,300})(\||\]\[)/y
const addressFirst = new RegExp(`\\[(${url}[^\\s\\[\\]<>]{1,2000})[ \\t]+(?=[^\\s\\]])`, 'y')
const addressLast = new RegExp(`\\[(?=[^\\[\\]|\\n]{1,300}\\|${url}[^\\s\\[\\]|]{1,2000}\\])`, 'y')
const addressOfLast = new RegExp(`\\|(${url}[^\\s\\[\\]|]{1,2000})\\]`, 'y')
const addressAfter = /\]\((<?[^\s()<>]*(?:\([^\s()<>]*\)[^\s()<>]*)?>?)(?:[ \t]+(?:"[^"\n]*"|'[^'\n]*'))?[ \t]*\)/y
const referenceAfter = /\]\[(\d{1,3})\]/y
const chatLink = new RegExp(`<(${url}[^\\s<>|]{1,2000})\\|(?=[^<>\\n]{1,500}>)`, 'y')
/** Mentions, channels, emoji and times as chat programs store them. */
const mention =
  /<(?:[@#!][!&]?[\w^-]{1,80}(?:\|([^<>\n]{0,80}))?|a?:\w{1,40}:\d{5,25}|t:\d{1,12}(?::[a-zA-Z])?|(?:\d{1,3}:)?\d{2}:\d{2}[.,]\d{3})>/y
const addressInQuote = new RegExp(`<(${url}[^\\s<>]{1,2000})>(?=\`_)`, 'y')
/** Formatting of subtitles. */
const override =
  /\{\\(?:an?\d|[ibus][01](?![0-9a-fA-F]{3})|pos|move|org|clip|c&|[1-4][ac]&|alpha|fad|fn|fs|fr|k[fo]?\d|bord|shad|blur|r(?:[A-Z][\w ]{0,40})?(?=[}\\])(?!\\n)|q\d)[^{}\n]{0,200}\}/y

export interface LightMarkup {
  /** Names of elements of BBCode that the text closes. */
  closed?: Set<string>
  /** The end of a link whose address came first. */
  closing?: number
  /** The last bracket that was sought. */
  bracket?: number
  /** The last line between an address and its words that was sought. */
  line?: number
}

/** The characters of an element of BBCode at most. */
const longestElement = 340
/** The offset of the next closing bracket, or of the next vertical line. */
function nextOf(sign: 'bracket' | 'line', text: string, at: number, light: LightMarkup): number {
  const known = light[sign]
  if (known !== undefined && known >= at) return known
  const next = text.indexOf(sign === 'bracket' ? ']' : '|', at)
  const found = next < 0 ? Number.POSITIVE_INFINITY : next
  light[sign] = found
  return found
}
/** Signs after a bracket with which an element or an address may begin. */
const beginsElement = /[/a-z]/i

/** Removes a link, a mention or a tag of other formats than HTML. Returns its end; the same offset if there is none. */
export function lightMarkup(
  layer: LayerBuilder,
  text: string,
  at: number,
  { start, end, light }: { start: number; end: number; light: LightMarkup },
  copied: () => void,
): number {
  // Most braces belong to other formats.
  if (text.charCodeAt(at) === 123 && text.charCodeAt(at + 1) !== 92) return at
  const matched = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at
    const found = pattern.exec(text)
    return found && pattern.lastIndex <= end ? found : null
  }
  const take = (whole: string, between: string, address?: string): number => {
    copied()
    layer.markup(at, at + whole.length, between)
    if (address) {
      const from = at + whole.indexOf(address)
      layer.tail(from, from + address.length, 'same')
    }
    return at + whole.length
  }
  switch (text.charCodeAt(at)) {
    case 91: {
      if (text.charCodeAt(at + 1) === 91) {
        const link = matched(wikiLink)
        return link ? take(link[0], '', link[1]) : at
      }
      const bracket = nextOf('bracket', text, at, light)
      const isNamed = beginsElement.test(text[at + 1] ?? '')
      const element = isNamed && bracket - at <= longestElement ? matched(board) : null
      if (element) {
        const name = (element[2] ?? '').toLowerCase()
        light.closed ??= new Set(
          [...text.slice(start, end).matchAll(closesBoard)].map((one) => (one[1] ?? '').toLowerCase()),
        )
        if (!light.closed.has(name) && !openingWithValue.test(element[0])) return at
        return take(element[0], boardBlock.test(name) ? '\n' : '', element[3])
      }
      if (text.startsWith('[*]', at)) {
        light.closed ??= new Set(
          [...text.slice(start, end).matchAll(closesBoard)].map((one) => (one[1] ?? '').toLowerCase()),
        )
        return light.closed.has('list') ? take('[*]', '\n') : at
      }
      const first = isNamed ? matched(addressFirst) : null
      if (first) return take(first[0], '', first[1])
      const line = nextOf('line', text, at, light)
      return line < bracket && line - at <= longestElement && matched(addressLast) ? take('[', '') : at
    }
    case 93: {
      const link = matched(addressAfter)
      if (link && /[/:.#]/.test(link[1] ?? '')) return take(link[0], '', link[1])
      const reference = matched(referenceAfter)
      return reference ? take(reference[0], '') : at
    }
    case 124: {
      const link = matched(addressOfLast)
      return link ? take(link[0], '', link[1]) : at
    }
    case 60: {
      const link = matched(chatLink)
      if (link) {
        light.closing = text.indexOf('>', at + link[0].length)
        return take(link[0], '', link[1])
      }
      const named = matched(mention)
      if (named) return take(named[0], '', named[1])
      const quoted = matched(addressInQuote)
      return quoted ? take(quoted[0], '', quoted[1]) : at
    }
    case 62:
      return light.closing === at ? take('>', '') : at
    case 123: {
      const formatting = matched(override)
      return formatting ? take(formatting[0], '') : at
    }
  }
  return at
}
