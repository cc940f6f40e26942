import type { ReactNode } from 'react'
import { settled } from '../../reader.ts'

/** Outside the loading state, so that who is not signed in gets a redirect and no page. */
export default async function SettledLayout({ children }: { children: ReactNode }) {
  await settled('/account')
  return children
}
