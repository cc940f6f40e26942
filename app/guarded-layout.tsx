import type { ReactNode } from 'react'
import { openedHere } from './reader.ts'

/**
 * The layout of every folder whose pages have a picture of their loading, or are all of one guard: it stands outside that picture, so that
 * who may not open the page gets a redirect or a refusal, and no page.
 */
export async function GuardedLayout({ children }: { children: ReactNode }) {
  await openedHere()
  return children
}
