/** A name as a part of a sentence: text that runs the other way stays within it (Unicode UAX #9, isolates). */
export const isolated = (name: string): string => `\u2068${name}\u2069`

/** How a reputation is written. */
export const score = { minimumFractionDigits: 2, maximumFractionDigits: 2 }
