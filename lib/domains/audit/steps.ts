/** A stretch of time that is looked through at once. */
export interface Step {
  milliseconds: number
}

/** How long one step may take before the database gives it up, in milliseconds. */
export const stepLimit = 4_000
/** No step is shorter, in milliseconds. */
export const shortestStep = 1_000
const quick = 250
const slow = 1_000

/** Longer after a quick one, shorter after a slow one. `took` in milliseconds; undefined: it was given up, and is tried again shorter. */
export function nextStep({ milliseconds }: Step, took: number | undefined): Step {
  if (took === undefined) return { milliseconds: Math.max(shortestStep, milliseconds / 16) }
  if (took > slow) return { milliseconds: Math.max(shortestStep, milliseconds / 4) }
  return { milliseconds: took < quick ? milliseconds * 4 : milliseconds }
}
