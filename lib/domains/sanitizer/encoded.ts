import { findInjections } from './injection.ts'

/** Base64, which may continue on following lines. */
const RUN = /[A-Za-z0-9+/_-]{16,}(?:[ \t]{0,8}\r?\n[ \t>#*/]{0,8}[A-Za-z0-9+/_-]{4,})*={0,2}/g
const LINE_END = /[ \t]{0,8}\r?\n[ \t>#*/]{0,8}/
const FEWEST_UNITS = 24
/** Maximum length decoded per run, and maximum runs per text. */
const MOST_UNITS = 8192
const MOST_RUNS = 200
/** Base64 of Base64 is decoded this often. */
const MOST_LEVELS = 3
const PRINTABLE = /^[\s\p{L}\p{M}\p{N}\p{P}\p{S}\p{Cf}]*$/u
const decoder = new TextDecoder('utf-8', { fatal: true })

function decoded(run: string): string | undefined {
  if (run.length < FEWEST_UNITS) return undefined
  const signs = run.slice(0, MOST_UNITS).replaceAll('-', '+').replaceAll('_', '/').replaceAll('=', '')
  try {
    const bytes = Uint8Array.from(atob(signs.slice(0, signs.length - (signs.length % 4 === 1 ? 1 : 0))), (unit) =>
      unit.charCodeAt(0),
    )
    const text = decoder.decode(bytes)
    return PRINTABLE.test(text) ? text : undefined
  } catch {
    // Neither Base64 nor text, like most long words.
    return undefined
  }
}

/** The texts that a run may encode: its lines together, without a last line that may be a word, or each line. */
function decodings(run: string): string[] {
  const lines = run.slice(0, MOST_UNITS).split(LINE_END)
  const joined = decoded(lines.join('')) ?? (lines.length > 1 ? decoded(lines.slice(0, -1).join('')) : undefined)
  if (joined !== undefined) return [joined]
  return lines.length > 1 ? lines.flatMap((line) => decoded(line) ?? []) : []
}

const isInjection = (text: string, level: number): boolean =>
  findInjections(text, 'plain').refused !== undefined || (level < MOST_LEVELS && findIn(text, level + 1).length > 0)

function findIn(text: string, level: number): number[] {
  const places: number[] = []
  let runs = 0
  for (const { 0: run, index } of text.matchAll(RUN)) {
    if (runs++ >= MOST_RUNS) break
    if (decodings(run).some((inside) => isInjection(inside, level))) places.push(index)
  }
  return places
}

/** Offsets of Base64 whose text is a prompt injection. Long words in code and prose do not decode to text. */
export const findEncoded = (text: string): number[] => findIn(text, 1)
