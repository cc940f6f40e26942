import type { ReactNode } from 'react'
import { opened } from '../reader.ts'

/** Outside the loading state, so that who may not open it gets a redirect and no page. */
export default async function TokensLayout({ children }: { children: ReactNode }) {
  await opened('tokens')
  return children
}
