import { mayOpen, pageAt } from '#components/frame/pages.ts'
import type { Role } from '#lib/domains/accounts/rules.ts'
import type { Dashboard } from './dashboard-data.ts'

type Change = Pick<Dashboard['activity'][number], 'action' | 'resource_type' | 'resource_id'>

const part = encodeURIComponent
/** The page of a record, by the resource type in the audit log. */
const recordPages: Readonly<Record<string, (id: string) => string>> = {
  account: (id) => `/admin/users/${part(id)}`,
  agent: (id) => `/admin/tokens/${part(id)}`,
  request: (id) => `/admin/requests/${part(id)}`,
  receipt: (id) => `/receipts/${part(id)}`,
  hold: (id) => `/admin/holds?q=${part(id)}`,
  knowledge: (id) => `/knowledge/${part(id)}`,
  sop: (id) => `/knowledge/${part(id)}`,
  skill: (id) => `/knowledge/${part(id)}`,
  retention: () => '/admin/retention',
  'retention-sweep': () => '/admin/retention',
}

/** The page of the changed record if the role may open it, otherwise its entries in the audit log. Deleted records have no page. */
export function changeHref({ action, resource_type, resource_id }: Change, role: Role): string {
  const page = action === 'delete' ? undefined : recordPages[resource_type]?.(resource_id)
  const entry = page && pageAt(page)
  if (page && entry && mayOpen(entry, role)) return page
  return `/admin/audit?${new URLSearchParams({ resource_id })}`
}
