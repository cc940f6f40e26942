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
/** Elements of office documents that divide words anywhere. Other elements with the same prefixes contain values of their own. */
const runs = new Set('w:r w:t w:rpr w:prooferr w:bookmarkstart w:bookmarkend a:r a:t a:rpr text:span text:a'.split(' '))
/** Runs of a cell in a spreadsheet, whose elements have no prefix. */
const cellRuns = new Set(['r', 't', 'rpr'])
const isRun = (name: string, closed: ReadonlySet<string>): boolean =>
  runs.has(name) ||
  (cellRuns.has(name) && (closed.has('si') || closed.has('is')) && (closed.has('sst') || closed.has('c')))
/** A space at the edge of a run. Where none has one, every run consists of whole words. */
const spaceOfRun =
  /<(?:[wa]:)?t(?:\s[^<>]*)?> | <\/(?:[wa]:)?t>|<\/?text:(?:span|a)(?:\s[^<>]*)?> | <\/?text:(?:span|a)[\s>]/
/** Whether an element may be inside a word. */
function joinsWords(name: string, isOpened: boolean, text: string, region: Elements): boolean {
  if (inline.has(name)) return true
  region.closed ??= closedNames(text, region.start, region.end)
  if (!isRun(name, region.closed)) return region.isInProperties === true
  // What a run looks like is described before its text.
  region.isInProperties = isOpened && name.endsWith('rpr')
  region.hasSpaces ??= spaceOfRun.test(text.slice(region.start, region.end))
  return region.hasSpaces
}
/** Elements whose content is how a word is read, which is not a part of the text around them. */
const annotations = new Set(['rt', 'rp', 'rtc'])
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
  /** Whether runs of an office document begin or end with spaces. */
  hasSpaces?: boolean
  isInProperties?: boolean
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
    const isOpened = slash === '' && !rest.endsWith('/')
    layer.markup(at, end, joinsWords(known, isOpened, text, region) ? '' : '\n')
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
    const isInside = joinsWords(empty[0].slice(1, -2).toLowerCase(), false, text, region)
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

/** A space at the edge of a section. Where none has one, every section consists of whole words. */
const spaceOfSection = /<!\[CDATA\[ | \]\]>/
/** The end of a section of XML, after which the next one continues the same word. Returns its end; the same offset if there is none. */
export function endOfSection(
  layer: LayerBuilder,
  text: string,
  at: number,
  region: Elements,
  copied: () => void,
): number {
  if (!text.startsWith(']]><![CDATA[', at)) return at
  const all = () => text.slice(region.start, region.end)
  region.hasSections ??= all().includes('<![CDATA[') && spaceOfSection.test(all())
  if (!region.hasSections) return at
  copied()
  layer.markup(at, at + 3, '')
  return at + 3
}
