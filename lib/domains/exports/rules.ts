/** The version of the document's schema, as in the header KP-Schema-Version. */
export const schemaVersion = 'v1'

/** What one import may bring. Bytes as they arrive. */
export const importLimits = { items: 250_000, bytes: 2 * 2 ** 30 }

/** The UTC day that a time belongs to. */
export const dayOf = (now: Date): { start: Date; end: Date } => {
  const start = new Date(now)
  start.setUTCHours(0, 0, 0, 0)
  return { start, end: new Date(start.getTime() + 86_400_000) }
}
