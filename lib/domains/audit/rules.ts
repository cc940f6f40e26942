/** Retention of an entry in days. Not configurable. */
export const auditDays = 90

/** Entries before this time are never read. */
export const oldestRead = (now: Date): Date => new Date(now.getTime() - auditDays * 86_400_000)

/** Whether the entry records that a token was revoked. Revoking it again changes nothing. */
export const isRevocation = (resourceType: string, details: Record<string, unknown> = {}): boolean =>
  resourceType === 'token' &&
  details.changed !== false &&
  (details.operation === 'revokeToken' || (Array.isArray(details.fields) && details.fields.includes('revoked_at')))

/** The period of an export in UTC: a month as `2026-11`, otherwise its first and last day. Entries before it are deleted. */
function periodName(from: Date | undefined, to: Date, now: Date): string {
  const first = from && from > oldestRead(now) ? from : oldestRead(now)
  const nextMonth = new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + 1, 1))
  const [one, other] = [first.toISOString(), to.toISOString()]
  const isMonth = one.endsWith('-01T00:00:00.000Z') && to.getTime() === nextMonth.getTime() - 1
  return isMonth ? one.slice(0, 7) : `${one.slice(0, 10)}_${other.slice(0, 10)}`
}
/** The name of an exported file: `audit-2026-11.csv`. */
export const auditFileName = (
  { from, to, format }: { from?: Date | undefined; to?: Date | undefined; format: 'csv' | 'jsonl' },
  now: Date,
): string => `audit-${periodName(from, to ?? now, now)}.${format}`

/** Begins a CSV file, so that spreadsheets read it as UTF-8. */
export const csvStart = '\uFEFF'

/**
 * A winking smiley such as `;-)` is not a formula. After `;-(` or `;-D`, a formula could continue with the characters that this pattern
 * excludes.
 */
const wink = String.raw`(?<=;)-(?:\)(?=[\s\p{P}]|$)|[\(DPp](?=[\s,.!?]|$)[^;\t\r\n\|\('"\[\{]*(?=[;\t\r\n]|$))`
/**
 * The place before a formula. Where a spreadsheet separates cells by semicolons or tabs, a formula may also begin after one of these, or in a
 * further line, although the cell is quoted.
 */
const beforeFormula = new RegExp(
  String.raw`(?:^|(?<=[;\t\r\n]))(?=[=+\-@\uFF1D\uFF0B\uFF0D\uFF20])(?!${wink})|^(?=[\t\r\n])`,
  'gv',
)
/** A CSV cell (RFC 4180). Text that a spreadsheet would run as a formula, also in full-width signs, gets an apostrophe before it. */
export function csvCell(value: string): string {
  const text = value.replace(beforeFormula, "'")
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** Filters of the log page, named as in the API. */
export const filterNames = ['agent_id', 'action', 'resource_type', 'resource_id', 'from', 'to', 'q', 'reads'] as const
/** The pages whose filters can be saved, with the names of these filters in their canonical order. */
export const savedPages = {
  audit: filterNames,
  requests: ['open', 'state', 'kind', 'channel', 'due', 'assignee', 'q', 'hold', 'sort'],
  'deletion-log': ['q', 'kind', 'from', 'to'],
} as const
export type SavedPage = keyof typeof savedPages
export const savedPageNames = ['audit', 'requests', 'deletion-log'] as const satisfies readonly SavedPage[]
/** Maximum saved searches per account. */
export const maxSearches = 100

/** Filters as in the page address, in a canonical order. Undefined for unknown or repeated filters, or when no filter remains. */
export function canonicalQuery(text: string, page: SavedPage = 'audit'): string | undefined {
  const names: readonly string[] = savedPages[page]
  const given = [...new URLSearchParams(text)]
  const known = new Map(given)
  if (known.size !== given.length || given.some(([name]) => !names.includes(name))) return undefined
  const set = names.flatMap((name) => {
    const value = known.get(name)
    return value ? [[name, value]] : []
  })
  return set.length === 0 ? undefined : new URLSearchParams(set).toString()
}

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
