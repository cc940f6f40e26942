import type { ReactNode } from 'react'
import { openedHere } from '../../../reader.ts'

export default async function Layout({ children }: { children: ReactNode }) {
  await openedHere()
  return children
}
