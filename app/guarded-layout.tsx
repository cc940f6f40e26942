import type { ReactNode } from 'react'
import { requireCurrentPageAccess } from './page-access.ts'

/** Layout for folders with one access rule for all pages: users without access get a redirect or a 403. */
export async function GuardedLayout({ children }: { children: ReactNode }) {
  await requireCurrentPageAccess()
  return children
}
