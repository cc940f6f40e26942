import type { ReactNode } from 'react'
import { openedHere } from '../../reader.ts'

/** Outside the loading state, so that who may not open it gets a redirect and no page. */
export default async function PrivacyLayout({ children }: { children: ReactNode }) {
  await openedHere()
  return children
}
