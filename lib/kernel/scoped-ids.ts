/**
 * An id that a client chose is unique within its project: it is stored as `<project>~<id>`. No chosen id contains the sign. Ids that we
 * made, and ids that clients chose before, are stored as they are.
 */
export const scopeSign = '~'
export const scopedId = (project: string, chosen: string): string => `${project}${scopeSign}${chosen}`
/** A stored id as clients and other stores know it. */
export const shownId = (stored: string): string => stored.slice(stored.indexOf(scopeSign) + 1)
