import type { WorkItem } from '#lib/domains/console/contract.ts'
import { downloadsHref } from './navigation.ts'

/**
 * The page with details of a running item. The reader's own erasure is on the page of its request or project, any other on the admin page.
 */
export function workPageOf({
  kind,
  id,
  request_id,
  project_id,
  is_own,
}: Pick<WorkItem, 'kind' | 'id' | 'request_id' | 'project_id' | 'is_own'>): string {
  if (kind === 'export') return downloadsHref
  if (kind === 'sweep') return '/admin/retention'
  if (is_own && request_id !== null) return `/settings/privacy/requests/${request_id}`
  if (is_own && project_id !== null) return `/projects/${encodeURIComponent(project_id)}/erasures/${id}`
  return `/admin/erasures/${id}`
}
