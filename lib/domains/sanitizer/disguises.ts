/** A part of a text as a reader would decode it; `back` maps an offset in `copy` to the text. */
type DecodedCopy = { copy: string; back: (offset: number) => number }

/** Tags within words are read as gaps, because tags in code are kept. */
const TAG = /<\/?[a-z][^<>]{0,200}>/g
/** The beginning of a comment line: `# ignore`, `// previous`, `-- rules`. */
const COMMENT_LINE = /(?<=\n)[ \t]{0,40}(?:#{1,6}|\/{2,3}|--|;{1,2}|%{1,2}|\*|\||rem(?=[ \t]))[ \t|]{0,40}/g
/** A dot or another sign between letters in place of a space. */
const JOINT = /(?<=\p{L})(?:[.\u00b7\u2022\u2027\u30fb~|+,]{1,3}|\u2026)(?=\p{L})/gu

const blank = (found: string): string => ' '.repeat(found.length)

/** A copy of the same length in which comment signs at the beginning of lines and signs in place of spaces are blanks. */
export const withoutSigns = (copy: string): string => copy.replace(COMMENT_LINE, blank).replace(JOINT, blank)

/**
 * Copies of the same length in which disguises are blanks: tags within words, comment signs at the beginning of lines, signs in place of
 * spaces. Only those that differ from `copy`.
 */
export function undisguised(copy: string): string[] {
  const withoutTags = copy.replace(TAG, blank)
  return [...new Set([withoutTags, withoutSigns(copy)])].filter((variant) => variant !== copy)
}

const ESCAPE = /&(?:#(?:\d|x)|[A-Za-z]{2,8};)|\\(?:u[0-9a-f]{4}|u\{|x[0-9a-f]{2}|[<>|[\]_*#:"'`])|%[0-9a-f]{2}/gi
const ONE_ESCAPE = /\\u\{([0-9a-f]{1,6})\}|\\u([0-9a-f]{4})|\\x([0-9a-f]{2})|%([0-9a-f]{2})|\\([<>|[\]_*#:"'`])/gi
/** An order is no longer than this around an escape. */
const REACH = 160

/** Character references that can represent a letter, space or punctuation of an injection. */
const NAMED: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  ensp: ' ',
  emsp: ' ',
  thinsp: ' ',
  Tab: '\t',
  NewLine: '\n',
  colon: ':',
  num: '#',
  vert: '|',
  lsqb: '[',
  lbrack: '[',
  rsqb: ']',
  rbrack: ']',
  sol: '/',
  lowbar: '_',
  period: '.',
  comma: ',',
  shy: '',
  zwnj: '',
  zwj: '',
}
const REFERENCE = /&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([A-Za-z]{2,8}));?/gi

/** Returns a copy with decoded character references and a mapping of its offsets; undefined without references. */
function decodeEntities(text: string): { copy: string; back: (offset: number) => number } | undefined {
  if (!text.includes('&')) return undefined
  const shifts: { at: number; by: number }[] = []
  let shift = 0
  const copy = text.replace(
    REFERENCE,
    (reference: string, decimal?: string, hex?: string, name?: string, index = 0) => {
      const code = decimal ? Number(decimal) : hex ? Number.parseInt(hex, 16) : -1
      const shown = name ? NAMED[name] : code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : undefined
      if (shown === undefined) return reference
      shift += reference.length - shown.length
      shifts.push({ at: index + reference.length - shift, by: shift })
      return shown
    },
  )
  if (shifts.length === 0) return undefined
  const back = (offset: number) => offset + (shifts.findLast(({ at }) => at <= offset)?.by ?? 0)
  return { copy, back }
}

/** Decodes escapes of program texts, addresses and Markdown, and character references, with some text around them. */
export function decodeEscapes(text: string): DecodedCopy[] {
  const windows: { start: number; end: number }[] = []
  for (const { index } of text.matchAll(ESCAPE)) {
    const last = windows.at(-1)
    if (last && index - REACH <= last.end) last.end = index + REACH
    else windows.push({ start: Math.max(0, index - REACH), end: index + REACH })
  }
  return windows.flatMap(({ start, end }) => {
    const part = text.slice(start, end)
    const references = decodeEntities(part)
    const escapes = decodeOnce(references?.copy ?? part)
    if (!references && !escapes) return []
    const middle = escapes?.back ?? ((offset: number) => offset)
    const first = references?.back ?? ((offset: number) => offset)
    return [{ copy: escapes?.copy ?? references?.copy ?? part, back: (offset) => start + first(middle(offset)) }]
  })
}

function decodeOnce(text: string): DecodedCopy | undefined {
  const shifts: { at: number; by: number }[] = []
  let shift = 0
  const copy = text.replace(ONE_ESCAPE, (found: string, ...parts: unknown[]) => {
    const [braced, unicode, byte, percent, sign] = parts
    const hex = [braced, unicode, byte, percent].find((part) => typeof part === 'string')
    const code = typeof hex === 'string' ? Number.parseInt(hex, 16) : -1
    const shown = typeof sign === 'string' ? sign : code <= 0x10ffff ? String.fromCodePoint(code) : undefined
    const index = parts[5]
    if (shown === undefined || typeof index !== 'number') return found
    shift += found.length - shown.length
    shifts.push({ at: index + found.length - shift, by: shift })
    return shown
  })
  if (shifts.length === 0) return undefined
  return { copy, back: (offset) => offset + (shifts.findLast(({ at }) => at <= offset)?.by ?? 0) }
}
