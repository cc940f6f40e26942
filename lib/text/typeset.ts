import { LayerBuilder, type Span } from './layer.ts'

/** Names of the encodings of RTF that are no number of Windows, by their code page. */
const pages: Readonly<Record<string, string>> = {
  866: 'ibm866',
  874: 'windows-874',
  932: 'shift_jis',
  936: 'gbk',
  949: 'euc-kr',
  950: 'big5',
  10000: 'macintosh',
  10007: 'x-mac-cyrillic',
  54936: 'gb18030',
  65001: 'utf-8',
}
/** Code pages of fonts, by their character set. The others use that of the document. */
const pagesOfFonts: Readonly<Record<string, string>> = {
  77: '10000',
  128: '932',
  129: '949',
  134: '936',
  136: '950',
  161: '1253',
  162: '1254',
  163: '1258',
  177: '1255',
  178: '1256',
  186: '1257',
  204: '1251',
  222: '874',
  238: '1250',
}
const decoders = new Map<string, TextDecoder>()
/** The decoder of a code page; that of Windows-1252 if nobody knows another. */
function decoderOf(page: string): TextDecoder {
  const name = pages[page] ?? (/^125[0-8]$/.test(page) ? `windows-${page}` : 'windows-1252')
  const known = decoders.get(name) ?? new TextDecoder(name)
  decoders.set(name, known)
  return known
}

const startOfRtf = '{\\rtf'
/** The beginning of a group with a purpose of its own. */
const destination = /\{\s*(\\\*\s*)?\\([a-zA-Z]{1,32})/y
/** Groups of RTF without words of the text. */
const hiddenGroup =
  /^(?:fonttbl|colortbl|stylesheet|generator|listtable|listoverridetable|rsidtbl|themedata|datastore|colorschememapping|latentstyles|xmlnstbl|mmathPr|objdata|blipuid|pict)$/
/** Groups with words that people wrote beside the text. */
const besideText = /^(?:annotation|footnote|shpinst|shptxt)$/
/** Groups of data about the text. So are most whose name begins with a star. */
const aboutText = /^(?:info|fldinst|sp)$/
/** Groups with a star that contain a part of the text. */
const inText = /^(?:ud|shppict)$/
const controlWord = /\\([a-zA-Z]{1,32})(-?\d{1,10})? ?/y
const codeOfByte = /\\'([0-9a-fA-F]{2})/y
const endsLine = /\\(?:par|line)\r?$/
const signsOfRtf: Readonly<Record<string, string>> = {
  par: '\n',
  line: '\n',
  sect: '\n',
  page: '\n',
  row: '\n',
  cell: '\t',
  tab: '\t',
  emdash: ' ',
  endash: ' ',
  bullet: ' ',
  lquote: "'",
  rquote: "'",
  ldblquote: '"',
  rdblquote: '"',
  ...Object.fromEntries(
    'title|subject|author|manager|company|operator|category|keywords|comment|doccomm|sn|sv|propname|staticval'
      .split('|')
      .map((name) => [name, '\n']),
  ),
}

/** The exclusive end of a group in braces; the end of the text if it is not closed. */
function endOfGroup(text: string, start: number, end: number): number {
  let depth = 0
  for (let at = start; at < end; at++) {
    const unit = text.charCodeAt(at)
    if (unit === 92) at++
    else if (unit === 123) depth++
    else if (unit === 125 && --depth === 0) return at + 1
  }
  return end
}

export const hasRtf = (text: string, start: number, end: number): boolean => text.slice(start, end).includes(startOfRtf)

/** The documents of RTF in a part of a text. */
export function rtfIn(text: string, start: number, end: number): { start: number; end: number }[] {
  const found: { start: number; end: number }[] = []
  for (let at = start; ; ) {
    const next = text.indexOf(startOfRtf, at)
    if (next < 0 || next >= end) return found
    at = endOfGroup(text, next, end)
    found.push({ start: next, end: at })
  }
}

/** A document of RTF. */
interface Rtf {
  /** The exclusive end of each group. */
  ends: ReadonlyMap<number, number>
  /** The code pages of its fonts. */
  fonts: ReadonlyMap<string, string>
  page: string
  end: number
}
/** What a group inherits from the one around it. */
interface GroupState {
  /** Characters that replace one of Unicode, for programs that do not know it. */
  fallback: number
  decoder: TextDecoder
}

function documentOf(text: string, start: number, end: number): Rtf {
  const ends = new Map<number, number>()
  const open: number[] = []
  const fonts = new Map<string, string>()
  let page = '1252'
  let font = ''
  for (let at = start; at < end; at++) {
    const unit = text.charCodeAt(at)
    if (unit === 123) open.push(at)
    else if (unit === 125) ends.set(open.pop() ?? start, at + 1)
    else if (unit === 92) {
      controlWord.lastIndex = at
      const [, name, number = ''] = controlWord.exec(text) ?? []
      if (name === 'f') font = number
      else if (name === 'fcharset') fonts.set(font, pagesOfFonts[number] ?? '')
      else if (name === 'ansicpg') page = number
      else if (name === 'mac') page = '10000'
      at++
    }
  }
  return { ends, fonts, page, end }
}

/** Decodes a document of RTF: its formatting is markup. */
export function decodeRtf(layer: LayerBuilder, start: number, end: number): void {
  const document = documentOf(layer.base, start, end)
  const first = layer.length
  decodeGroup(layer, document, { start, end }, { fallback: 1, decoder: decoderOf(document.page) })
  layer.region(first, layer.length)
}

/** The code page that a document states; undefined if it states none. */
export const codePageOfRtf = (text: string): string | undefined => {
  const page = /\\ansicpg(\d{1,5})/.exec(text)?.[1]
  return page === undefined ? undefined : decoderOf(page).encoding
}
/** The words of a document of RTF: its text, then what people wrote beside it, such as comments and text boxes. */
export function wordsOfRtf(text: string): string {
  const builder = new LayerBuilder(text)
  decodeRtf(builder, 0, text.length)
  const { text: decoded, flowEnd, readable } = builder.build()
  const beside = readable.map(({ start, end }) => decoded.slice(start, end)).filter((part) => part.trim() !== '')
  return [decoded.slice(0, flowEnd), ...beside].join('\n')
}

/** The bytes at an offset that are one character: a byte outside ASCII may begin a longer one. */
function bytesAt(text: string, start: number, decoder: TextDecoder): { text: string; end: number } | undefined {
  const bytes: number[] = []
  let at = start
  let first: { text: string; end: number } | undefined
  while (bytes.length < 4) {
    codeOfByte.lastIndex = at
    const code = codeOfByte.exec(text)?.[1]
    const unit = text.charCodeAt(at)
    if (code !== undefined) bytes.push(Number.parseInt(code, 16))
    else if (bytes.length > 0 && unit >= 0x40 && unit < 0x7f && !'\\{}'.includes(text[at] ?? '')) bytes.push(unit)
    else break
    at += code === undefined ? 1 : 4
    const found = decoder.decode(Uint8Array.from(bytes))
    if (!found.includes('\ufffd')) return { text: found, end: at }
    first ??= { text: decoderOf('1252').decode(Uint8Array.from(bytes)), end: at }
  }
  return first
}

function decodeGroup(layer: LayerBuilder, document: Rtf, { start, end }: Span, initial: GroupState): void {
  const text = layer.base
  const { ends, fonts, page } = document
  const around: GroupState[] = []
  let state = initial
  let from = start
  /** Leaves out a group, and reads it after the text. */
  const leave = (at: number, to: number, isReadable: boolean): void => {
    const own = state
    // Without its first brace, it is no group that would be left again.
    layer.afterwards(() => decodeGroup(layer, document, { start: at + 1, end: to }, own), isReadable)
  }
  for (let at = start; at < end; ) {
    const unit = text.charCodeAt(at)
    if (unit !== 92 && unit !== 123 && unit !== 125 && unit !== 10 && unit !== 13) {
      at++
      continue
    }
    layer.copy(from, at)
    from = at
    if (unit === 123) {
      destination.lastIndex = at
      const [, star, name = ''] = destination.exec(text) ?? []
      const to = Math.min(end, ends.get(at) ?? document.end)
      from = to
      if (hiddenGroup.test(name)) {
        // An image may have a description.
        const properties = name === 'pict' ? at + text.slice(at, to).indexOf('{\\*\\picprop') : -1
        if (properties >= at) leave(properties, Math.min(to, ends.get(properties) ?? to), false)
      } else if (besideText.test(name)) leave(at, to, true)
      else if (aboutText.test(name) || (star !== undefined && !inText.test(name))) leave(at, to, false)
      else {
        around.push(state)
        from = at + 1
        if (name === 'upr') {
          // The same text follows in Unicode.
          const other = text.indexOf('{', from)
          const after = ends.get(other)
          if (other >= 0 && after !== undefined && after < to && text.startsWith('{\\*\\ud', after)) {
            leave(other, after, false)
            from = after
          }
        }
      }
      layer.markup(at, from, '')
    } else if (unit !== 92) {
      if (unit === 125) state = around.pop() ?? state
      from = at + 1
      layer.markup(at, from, unit === 125 || endsLine.test(text.slice(at - 6, at)) ? '' : '\n')
    } else {
      const next = text[at + 1] ?? ''
      controlWord.lastIndex = at
      const word = controlWord.exec(text)
      const byte = word ? undefined : bytesAt(text, at, state.decoder)
      if (word) {
        const [whole, name = '', number = ''] = word
        from = Math.min(end, at + whole.length)
        if (name === 'uc') state = { ...state, fallback: Number(number) }
        else if (name === 'f' || name === 'plain') state = { ...state, decoder: decoderOf(fonts.get(number) || page) }
        if (name === 'u' && number !== '') {
          for (let n = 0; n < state.fallback && from < end; n++) {
            codeOfByte.lastIndex = from
            if (codeOfByte.test(text)) from += 4
            else if (!'{}\\'.includes(text[from] ?? '')) from += 1
            else break
          }
          layer.unit(at, from, String.fromCharCode((Number(number) + 0x10000) % 0x10000))
        } else layer.markup(at, from, signsOfRtf[name] ?? '')
      } else if (byte) {
        from = byte.end
        layer.unit(at, from, byte.text)
      } else if (next === '-') {
        from = at + 2
        layer.drop(at, from)
      } else if (next === '*') {
        from = at + 2
        layer.markup(at, from, '')
      } else {
        from = Math.min(end, at + 2)
        layer.unit(at, from, next === '~' ? ' ' : next === '_' ? '-' : next)
      }
    }
    at = from
  }
  layer.copy(from, end)
}

/** Whether a part of a text is TeX. A backslash before it escapes the command for another language. */
const texCommand =
  'text(?:bf|it|tt|sc|sl|rm|sf|up|md|normal|color|backslash|asciitilde|asciicircum|quotesingle)|emph|underline|documentclass|begin|' +
  'end|(?:sub){0,2}section|chapter|paragraph|item|href|footnote|cite|ss|ae|oe|aa|l|o|AE|OE|AA|L|O'
export const tex = new RegExp(
  `(?<!\\\\)(?:\\\\\\\\)*\\\\(?:(?:${texCommand})(?:\\*?[{[\\]]|\\}|[ ~]\\p{L})|["'\`^~=.]\\{\\\\?[a-zA-Z]\\}|[cvHkbdr]\\{[a-zA-Z]\\})|` +
    '\\{\\\\(?:(?:""?|[\'`^~=.])\\\\?[a-zA-Z]|ss|ae|oe|aa|l|o|AE|OE|AA|L|O)\\}|[a-zA-Z](?<!\\\\[a-zA-Z])\\\\"[aeiouAEIOU](?=[a-zß])',
  'u',
)
const combining: Readonly<Record<string, string>> = {
  '"': '\u0308',
  "'": '\u0301',
  '`': '\u0300',
  '^': '\u0302',
  '~': '\u0303',
  '=': '\u0304',
  '.': '\u0307',
  c: '\u0327',
  v: '\u030c',
  H: '\u030b',
  u: '\u0306',
  k: '\u0328',
  b: '\u0331',
  d: '\u0323',
  r: '\u030a',
}
/** In a cell of a table, a quotation mark is doubled. */
const accent = /\\(?:(""?|['`^~=.])(?:\{\\?(\p{L})\}|\\?(\p{L}))|([cvHukbdr])(?:\{\\?(\p{L})\}| (\p{L})))/uy
const command = /\\([a-zA-Z]+)\*?/y
const signsOfTex: Readonly<Record<string, string>> = {
  ss: 'ß',
  ae: 'æ',
  oe: 'œ',
  AE: 'Æ',
  OE: 'Œ',
  aa: 'å',
  AA: 'Å',
  o: 'ø',
  O: 'Ø',
  l: 'ł',
  L: 'Ł',
  i: 'i',
  j: 'j',
  dh: 'ð',
  th: 'þ',
  dj: 'đ',
  textbackslash: '\\',
  textasciitilde: '~',
  textasciicircum: '^',
  textquotesingle: "'",
  textquotedbl: '"',
  textless: '<',
  textgreater: '>',
  textbar: '|',
  textunderscore: '_',
  textdollar: '$',
  newline: '\n',
  par: '\n',
  ldots: '…',
}
/** Commands whose arguments are not words of the text. */
const withoutText =
  /^(?:begin|end|documentclass|usepackage|label|ref|cite|href|color|textcolor|vspace|hspace|input|include)$/
const oneArgument = /\{([^{}\n]{0,300})\}/y
const option = /\[[^[\]\n]{0,200}\]/y

/** Decodes what begins with a backslash in TeX. Returns its end; the same offset if other languages write it, too. */
export function texEscape(layer: LayerBuilder, text: string, at: number, copied: () => void): number {
  accent.lastIndex = at
  const accented = accent.exec(text)
  if (accented) {
    const [whole, sign = '', inBraces = '', bare = '', letter = '', ofLetter = '', spaced = ''] = accented
    const on = inBraces || bare || ofLetter || spaced
    const mark = combining[sign.charAt(0) || letter] ?? ''
    copied()
    layer.unit(at, at + whole.length, `${on}${mark}`.normalize('NFC'))
    return at + whole.length
  }
  const next = text[at + 1] ?? ''
  if (next === '-' || next === '/') {
    copied()
    layer.drop(at, at + 2)
    return at + 2
  }
  if (next === ',' || next === ';' || next === ':' || next === ' ' || next === '\\') {
    copied()
    layer.unit(at, at + 2, next === '\\' ? '\n' : ' ')
    return at + 2
  }
  command.lastIndex = at
  const found = command.exec(text)
  if (!found) return at
  const [whole, name = ''] = found
  let end = at + whole.length
  const sign = signsOfTex[name]
  if (sign !== undefined) {
    if (text.startsWith('{}', end)) end += 2
    else if (text.charCodeAt(end) === 32) end += 1
    copied()
    layer.unit(at, end, sign)
    return end
  }
  if (name.length < 2) return at
  copied()
  for (const pattern of [option, ...(withoutText.test(name) ? [oneArgument, option] : [])]) {
    pattern.lastIndex = end
    const argument = pattern.exec(text)
    if (!argument) continue
    layer.tail(end + 1, end + argument[0].length - 1, 'same')
    end += argument[0].length
  }
  if (text.charCodeAt(end) === 123) end += 1
  else while (text.charCodeAt(end) === 32) end += 1
  layer.markup(at, end, /^(?:begin|end|item|(?:sub)*section|chapter|paragraph)$/.test(name) ? '\n' : '')
  return end
}
