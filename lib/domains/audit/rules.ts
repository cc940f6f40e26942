/** Days that an entry is kept and read; fixed. */
export const auditDays = 90

/** Nothing older than this is read, at any time. */
export const oldestRead = (now: Date): Date => new Date(now.getTime() - auditDays * 86_400_000)

/** A CSV cell (RFC 4180); what a spreadsheet would run as a formula is kept as text. */
export function csvCell(value: string): string {
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** What the browser of the log filters by; in its address they are called as in the API. */
export const filterNames = ['agent_id', 'action', 'resource_type', 'resource_id', 'from', 'to', 'q'] as const
/** Searches that one account keeps at most. */
export const mostSearches = 100

/**
 * Filters as the page's address has them, in one order, so that equal ones are equal text. Undefined where something else is in it, one
 * stands twice, or nothing is left.
 */
export function canonicalQuery(text: string): string | undefined {
  const given = [...new URLSearchParams(text)]
  const known = new Map(given)
  if (known.size !== given.length || given.some(([name]) => !filterNames.some((one) => one === name))) return undefined
  const set = filterNames.flatMap((name) => {
    const value = known.get(name)
    return value ? [[name, value]] : []
  })
  return set.length === 0 ? undefined : new URLSearchParams(set).toString()
}
