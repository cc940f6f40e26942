import { createLoader, createSerializer, type inferParserType, parseAsString, parseAsStringLiteral } from 'nuqs/server'
import { filterNames } from '#lib/domains/audit/rules.ts'

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
}
export type AuditBrowserFilters = inferParserType<typeof auditFilterParsers>
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
} satisfies Record<(typeof filterNames)[number], null>

export type AuditQuery = Partial<Record<Exclude<keyof AuditBrowserFilters, 'action'>, string>> & {
  action?: (typeof auditActionFilters)[number]
}

/** The query for the API. It ends at the time in the address, otherwise at that of the page. */
export function auditQueryOf({ action, ...texts }: AuditBrowserFilters, shownTo: string): AuditQuery & { to: string } {
  const set = Object.fromEntries(
    filterNames.flatMap((name) => {
      const text = name === 'action' ? null : texts[name]
      return text ? [[name, text]] : []
    }),
  )
  return { to: shownTo, ...set, ...(action && { action }) }
}
export const isAuditFiltered = ({ to: _, ...filters }: AuditBrowserFilters): boolean =>
  Object.values(filters).some(Boolean)
/** The filters as a query string without `?`. */
export const searchOf = (filters: AuditBrowserFilters): string => serialize(filters).replace(/^\?/, '')

/** The address to download these rows as a file. */
export const exportHref = (query: AuditQuery, format: 'csv' | 'jsonl'): string =>
  `/v1/audit/export?${new URLSearchParams({ ...query, format })}`

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
