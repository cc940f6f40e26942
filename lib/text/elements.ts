import type { LayerBuilder } from './layer.ts'

/** Elements that do not separate words. */
const inline = new Set(
  (
    'a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr o:p q rt ruby s samp ' +
    'rp rtc small span strike strong sub sup time tt u var wbr'
  ).split(' '),
)
const blocks = new Set(
  (
    'address article aside blockquote body br button caption center col colgroup dd details dialog div dl dt fieldset figcaption ' +
    'figure footer form frame h1 h2 h3 h4 h5 h6 head header hr html iframe img input legend li link main map menu meta nav noscript ol ' +
    'optgroup option p picture pre script section select source style summary svg table tbody td template textarea tfoot th thead ' +
    'title tr track ul video audio embed canvas area base'
  ).split(' '),
)
/** Elements of office documents. Only those that separate words are blocks; all others divide words anywhere. */
const adminRole = /^(?:w(?:\d\d\w*)?|a|m|text|mc|wp|wps|v):/
const officeBlock =
  /:(?:p|h|s|br|cr|tab|tbl|tr|tc|txbxcontent|line-break|list|list-item|note|table|table-row|table-cell|body|document|sectpr)$/
/** Runs of a cell in a spreadsheet, whose elements have no prefix. */
const cellParts = new Set(['r', 't', 'rpr', 'sz', 'color', 'rfont', 'family', 'scheme', 'charset', 'vertalign'])
const isCell = (closed: ReadonlySet<string>): boolean => closed.has('si') || closed.has('is')
/** Whether an element may be inside a word. */
const joinsWords = (name: string, closed: ReadonlySet<string>): boolean =>
  inline.has(name) ||
  (name.includes(':') ? adminRole.test(name) && !officeBlock.test(name) : cellParts.has(name) && isCell(closed))
/** Elements whose content is not a part of the text around them: how a word is read, and notes. */
const annotations = new Set(['rt', 'rp', 'rtc', 'ref'])
const maxAnnotation = 200
const tag = /<(\/?)([a-zA-Z][a-zA-Z0-9:._-]{0,63})((?:\s[^<>]*)?)>/y
const selfClosed = /<[a-zA-Z][a-zA-Z0-9:._-]{0,63}\/>/y
const otherMarkup = /<!--([\s\S]*?)-->|<!\[CDATA\[|<![a-zA-Z][^<>]*>|<\?[a-zA-Z][^<>]*\?>/y
const attributes = /(?:alt|title|content|value|label|placeholder|summary|aria-label)\s*=\s*("[^"]*"|'[^']*')/gi

/** Names of elements that the text also closes: then they are elements of XML, not placeholders. */
const closedNames = (text: string, start: number, end: number): Set<string> => {
  const names = new Set<string>()
  for (const { 1: name } of text.slice(start, end).matchAll(/<\/([a-zA-Z][a-zA-Z0-9:._-]{0,63})/g))
    names.add(name ?? '')
  return names
}

/** The part of a text that elements belong to. */
export interface Elements {
  start: number
  end: number
  closed?: Set<string>
  hasSections?: boolean
  /** A search beyond this offset has found no end of a comment. */
  noComment?: boolean
}

/** Returns the end of the tag; the same offset if there is none. */
export function markup(layer: LayerBuilder, text: string, at: number, region: Elements, copied: () => void): number {
  tag.lastIndex = at
  const found = tag.exec(text)
  if (found && tag.lastIndex <= region.end) {
    const [whole, slash = '', name = '', rest = ''] = found
    const known = name.toLowerCase()
    region.closed ??= closedNames(text, region.start, region.end)
    const isElement =
      inline.has(known) ||
      blocks.has(known) ||
      region.closed.has(name) ||
      slash !== '' ||
      rest.endsWith('/') ||
      /=\s*["']/.test(rest)
    if (!isElement) return at
    const end = at + whole.length
    copied()
    if (slash === '' && annotations.has(known)) {
      // How a word is read is not a part of the text.
      const next = text.indexOf('<', end)
      const until = next < 0 || next > Math.min(region.end, end + maxAnnotation) ? end : next
      layer.markup(at, until, '')
      layer.tail(end, until, 'same', true)
      return until
    }
    layer.markup(at, end, joinsWords(known, region.closed) ? '' : '\n')
    if (rest.includes('=')) {
      const from = end - 1 - rest.length
      layer.tail(from, end - 1, 'same')
      for (const { 1: value = '', index } of rest.matchAll(attributes)) {
        const first = from + index + (rest.slice(index).indexOf(value) + 1)
        layer.tail(first, first + value.length - 2, 'same', true)
      }
    }
    return end
  }
  selfClosed.lastIndex = at
  const empty = selfClosed.exec(text)
  if (empty) {
    copied()
    region.closed ??= closedNames(text, region.start, region.end)
    const isInside = joinsWords(empty[0].slice(1, -2).toLowerCase(), region.closed)
    layer.markup(at, at + empty[0].length, isInside ? '' : '\n')
    return at + empty[0].length
  }
  if (text.startsWith('<!--', at) && region.noComment) return at
  otherMarkup.lastIndex = at
  const other = otherMarkup.exec(text)
  if (!other || otherMarkup.lastIndex > region.end) {
    if (text.startsWith('<!--', at)) region.noComment = true
    return at
  }
  copied()
  layer.markup(at, at + other[0].length, '')
  if (other[1]) layer.tail(at + 4, at + 4 + other[1].length, 'same')
  return at + other[0].length
}

/** The end of a section of XML, after which the next one continues the same word. Returns its end; the same offset if there is none. */
export function endOfSection(
  layer: LayerBuilder,
  text: string,
  at: number,
  region: Elements,
  copied: () => void,
): number {
  if (!text.startsWith(']]>', at)) return at
  region.hasSections ??= text.slice(region.start, region.end).includes('<![CDATA[')
  if (!region.hasSections) return at
  copied()
  layer.markup(at, at + 3, '')
  return at + 3
}
