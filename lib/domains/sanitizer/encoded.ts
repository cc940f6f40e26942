import { findInjection } from './injection.ts'

const RUN = /[A-Za-z0-9+/_-]{24,}={0,2}/g
/** Maximum length decoded per run, and maximum runs per text. */
const MOST_UNITS = 8192
const MOST_RUNS = 200
const PRINTABLE = /^[\s\p{L}\p{M}\p{N}\p{P}\p{S}\p{Cf}]*$/u
const decoder = new TextDecoder('utf-8', { fatal: true })

function decoded(run: string): string | undefined {
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

/** Offsets of Base64 whose text is a prompt injection. Long words in code and prose do not decode to text. */
export function findEncoded(text: string): number[] {
  const places: number[] = []
  let runs = 0
  for (const { 0: run, index } of text.matchAll(RUN)) {
    if (runs++ >= MOST_RUNS) break
    const inside = decoded(run)
    if (inside !== undefined && findInjection(inside)) places.push(index)
  }
  return places
}
