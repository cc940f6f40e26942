import type { LayerBuilder } from './layer.ts'

/** The characters of Windows-1252 from 0x80 to 0x9f. */
const windows = new TextDecoder('windows-1252')
const ofByte = (byte: number): string => windows.decode(Uint8Array.of(byte))

const startOfRtf = '{\\rtf'
/** Groups of RTF without words of the text. */
const hiddenGroup = /\{\\(?:\*|fonttbl|colortbl|stylesheet|info|pict|generator|listtable|rsidtbl)/y
const controlWord = /\\([a-zA-Z]{1,32})(-?\d{1,10})? ?/y
const codeOfByte = /\\'([0-9a-fA-F]{2})/y
const endsLine = /\\(?:par|line)\r?$/
const wordsOfRtf: Readonly<Record<string, string>> = {
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

/** Decodes a document of RTF: its formatting is markup. */
export function decodeRtf(layer: LayerBuilder, start: number, end: number): void {
  const text = layer.base
  const first = layer.length
  let from = start
  let fallback = 1
  for (let at = start; at < end; ) {
    const unit = text.charCodeAt(at)
    if (unit !== 92 && unit !== 123 && unit !== 125 && unit !== 10 && unit !== 13) {
      at++
      continue
    }
    layer.copy(from, at)
    from = at
    if (unit === 123) {
      hiddenGroup.lastIndex = at
      from = hiddenGroup.test(text) ? endOfGroup(text, at, end) : at + 1
      layer.markup(at, from, '')
    } else if (unit !== 92) {
      from = at + 1
      layer.markup(at, from, unit === 125 || endsLine.test(text.slice(at - 6, at)) ? '' : '\n')
    } else {
      const next = text[at + 1] ?? ''
      controlWord.lastIndex = at
      codeOfByte.lastIndex = at
      const word = controlWord.exec(text)
      const byte = word ? null : codeOfByte.exec(text)
      if (word) {
        const [whole, name = '', number = ''] = word
        from = at + whole.length
        if (name === 'uc') fallback = Number(number)
        if (name === 'u' && number !== '') {
          from = at + whole.length - (whole.endsWith(' ') && fallback > 0 ? 0 : whole.endsWith(' ') ? 1 : 0)
          for (let n = 0; n < fallback && from < end; n++) {
            codeOfByte.lastIndex = from
            if (codeOfByte.test(text)) from += 4
            else if (!'{}\\'.includes(text[from] ?? '')) from += 1
          }
          layer.unit(at, from, String.fromCharCode((Number(number) + 0x10000) % 0x10000))
        } else layer.markup(at, from, wordsOfRtf[name] ?? '')
      } else if (byte) {
        from = at + 4
        layer.unit(at, from, ofByte(Number.parseInt(byte[1] ?? '', 16)))
      } else if (next === '-') {
        from = at + 2
        layer.drop(at, from)
      } else {
        from = Math.min(end, at + 2)
        layer.unit(at, from, next === '~' ? ' ' : next === '_' ? '-' : next)
      }
    }
    at = from
  }
  layer.copy(from, end)
  layer.region(first, layer.length)
}

/** Whether a part of a text is TeX. A backslash before it escapes the command for another language. */
const texCommand =
  'text(?:bf|it|tt|sc|sl|rm|sf|up|md|normal|color|backslash|asciitilde|asciicircum|quotesingle)|emph|underline|documentclass|begin|' +
  'end|(?:sub){0,2}section|chapter|paragraph|item|href|footnote|cite|ss|ae|oe|aa|l|o|AE|OE|AA|L|O'
export const tex = new RegExp(
  `(?<!\\\\)(?:\\\\\\\\)*\\\\(?:(?:${texCommand})(?:\\*?[{[\\]]|\\}|[ ~]\\p{L})|["'\`^~=.]\\{\\\\?[a-zA-Z]\\}|[cvHkbdr]\\{[a-zA-Z]\\})|` +
    '\\{\\\\(?:["\'`^~=.]\\\\?[a-zA-Z]|ss|ae|oe|aa|l|o|AE|OE|AA|L|O)\\}|[a-zA-Z](?<!\\\\[a-zA-Z])\\\\"[aeiouAEIOU](?=[a-zß])',
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
const accent = /\\(?:(["'`^~=.])(?:\{\\?(\p{L})\}|\\?(\p{L}))|([cvHukbdr])(?:\{\\?(\p{L})\}| (\p{L})))/uy
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
    const mark = combining[sign || letter] ?? ''
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
