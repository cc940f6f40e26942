import {
  createLoader,
  createSerializer,
  parseAsString,
  parseAsStringLiteral,
  type QueryValues,
} from '#components/frame/query-parsers.ts'
import { filterNames, oldestRead } from '#lib/domains/audit/rules.ts'

export const auditActionFilters = ['create', 'read', 'update', 'delete', 'export', 'validate'] as const

/** The filters in the address, named as in the API, so that a link shows the same rows. */
export const auditFilterParsers = {
  q: parseAsString,
  agent_id: parseAsString,
  action: parseAsStringLiteral(auditActionFilters),
  resource_type: parseAsString,
  resource_id: parseAsString,
  from: parseAsString,
  to: parseAsString,
  /** Reads are hidden unless the address asks for them. */
  reads: parseAsStringLiteral(['true']),
}
export type AuditBrowserFilters = QueryValues<typeof auditFilterParsers>
export const loadAuditFilters = createLoader(auditFilterParsers)
const serialize = createSerializer(auditFilterParsers)

/** Rows per page. */
export const auditPageSize = 100
/** All filters cleared. */
export const noAuditFilters = {
  q: null,
  agent_id: null,
  action: null,
  resource_type: null,
  resource_id: null,
  from: null,
  to: null,
  reads: null,
} satisfies Record<(typeof filterNames)[number], null>

export type AuditQuery = Partial<Record<Exclude<keyof AuditBrowserFilters, 'action' | 'reads'>, string>> & {
  action?: (typeof auditActionFilters)[number]
  reads?: 'false'
}

/** The query for the API. It ends at the time in the address, otherwise at that of the page. Reads are omitted unless asked for. */
export function auditQueryOf(
  { action, reads, ...texts }: AuditBrowserFilters,
  shownTo: string,
): AuditQuery & { to: string } {
  const set = Object.fromEntries(
    filterNames.flatMap((name) => {
      const text = name === 'action' || name === 'reads' ? null : texts[name]
      return text ? [[name, text]] : []
    }),
  )
  const isWithoutReads = reads === null && action !== 'read'
  return { to: shownTo, ...set, ...(action && { action }), ...(isWithoutReads && { reads: 'false' as const }) }
}
export const isAuditFiltered = ({ to: _to, reads: _reads, ...filters }: AuditBrowserFilters): boolean =>
  Object.values(filters).some(Boolean)
/** The filters as a query string without `?`. */
export const searchOf = (filters: AuditBrowserFilters): string => serialize('', filters).replace(/^\?/, '')

/** The address to download these rows as a file. */
export const exportHref = (query: AuditQuery, format: 'csv' | 'jsonl'): string =>
  `/v1/audit/export?${new URLSearchParams({ ...query, format })}`

/** The id of a person without the prefix that actors have. */
export const bareId = (actor: string): string => actor.replace(/^user:/, '')

/** The query for the entries of a month (`2026-01`) in UTC. */
export function monthQuery(month: string, hasReads: boolean): AuditQuery {
  const from = new Date(`${month}-01T00:00:00.000Z`)
  const to = new Date(from)
  to.setUTCMonth(to.getUTCMonth() + 1)
  to.setUTCMilliseconds(-1)
  return { from: from.toISOString(), to: to.toISOString(), ...(!hasReads && { reads: 'false' }) }
}
/** The months that still have entries, the newest first, as `2026-01`. */
export function auditMonths(now: Date): string[] {
  const oldest = oldestRead(now).toISOString().slice(0, 7)
  return Array.from({ length: 5 }, (_, back) =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back, 1)).toISOString().slice(0, 7),
  ).filter((month) => month >= oldest)
}

/** An entry in the address. The timestamp makes the lookup fast. */
export const entryKey = ({ timestamp, id }: { timestamp: string; id: string }): string => `${timestamp}~${id}`
export function auditEntryOf(key: string): { timestamp: string; id: string } | undefined {
  const [timestamp = '', id = ''] = key.split('~')
  return /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(timestamp) && /^[\da-f-]{36}$/i.test(id) ? { timestamp, id } : undefined
}

/** Rounds to two significant digits, because the count is an estimate. */
export const rounded = (count: number): number => {
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(Math.max(count, 1))) - 1)
  return Math.round(count / unit) * unit
}
