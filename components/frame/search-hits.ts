import type { Endpoint } from '#lib/client/request.ts'
import type { Role } from '#lib/domains/accounts/rules.ts'
import type { SearchHit, searchConsole } from '#lib/domains/console/contract.ts'

export const searchAt: Endpoint<typeof searchConsole> = { method: 'get', path: '/api/search' }

const part = encodeURIComponent

/** The page of a search result. */
export function hitPage({ kind, id, detail, is_own: isOwn }: SearchHit, role: Role): string {
  switch (kind) {
    case 'person':
      // Managers have a list of members, but no page of a member.
      return role === 'admin' ? `/admin/users/${part(id)}` : `/members?q=${part(detail ?? '')}`
    case 'agent':
      return isOwn ? `/agents/${part(id)}` : `/admin/tokens/${part(id)}`
    case 'request':
      return isOwn ? `/settings/privacy/requests/${part(id)}` : `/admin/requests/${part(id)}`
    case 'receipt':
      return `/receipts/${part(id)}`
    case 'erasure':
      return `/admin/erasures/${part(id)}`
    case 'project':
      return `/projects/${part(id)}`
    case 'unit':
    case 'skill':
      return `/knowledge/${part(id)}`
  }
}
