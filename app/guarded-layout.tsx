import type { ReactNode } from 'react'
import { requireCurrentPageAccess } from './page-access.ts'

/**
 * Layout for folders with a `loading.tsx` or with one access rule for all pages. It checks access outside the loading state, so that
 * users without access get a redirect or a 403 instead of a page that starts to load.
 */
export async function GuardedLayout({ children }: { children: ReactNode }) {
  await requireCurrentPageAccess()
  return children
}
