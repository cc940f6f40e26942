/** A period that one query searches. */
export interface SearchPeriod {
  milliseconds: number
}

/** Timeout of one step in the database, in milliseconds. */
export const stepLimit = 4_000
/** The shortest step, in milliseconds. */
export const shortestStep = 1_000
const quick = 250
const slow = 1_000

/**
 * Longer after a fast step, shorter after a slow one. `took` in milliseconds; undefined after a timeout, when a
 * shorter step is tried again.
 */
export function nextStep({ milliseconds }: SearchPeriod, took: number | undefined): SearchPeriod {
  if (took === undefined) return { milliseconds: Math.max(shortestStep, milliseconds / 16) }
  if (took > slow) return { milliseconds: Math.max(shortestStep, milliseconds / 4) }
  return { milliseconds: took < quick ? milliseconds * 4 : milliseconds }
}
