import type { ReactNode } from 'react'
import { opened } from '../../reader.ts'

/** Outside the loading state, so that who may not open it gets a redirect and no page. */
export default async function KnowledgeLayout({ children }: { children: ReactNode }) {
  await opened('knowledge')
  return children
}
