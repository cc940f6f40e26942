import type { ReactNode } from 'react'
import { AdminPlaces } from '#components/frame/admin-places.tsx'
import { Words } from '#components/frame/words.tsx'
import { openedHere, settled } from '../reader.ts'

export default async function AdminLayout({ children }: { children: ReactNode }) {
  const person = (await openedHere()) ?? (await settled('/admin'))
  return (
    <div className="mx-auto flex w-full max-w-7xl grow flex-col lg:flex-row">
      <Words>
        <AdminPlaces role={person.role} />
      </Words>
      <div className="flex min-w-0 grow flex-col">{children}</div>
    </div>
  )
}
