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
export function decodeEntities(text: string): { copy: string; back: (offset: number) => number } | undefined {
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
