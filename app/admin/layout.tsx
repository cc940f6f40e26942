import type { ReactNode } from 'react'
import { requireCompletedSignIn, requireCurrentPageAccess } from '#app/page-access.ts'
import { AdminNavigation } from '#components/frame/admin-navigation.tsx'
import { Messages } from '#components/frame/words.tsx'

export default async function AdminLayout({ children }: { children: ReactNode }) {
  const person = (await requireCurrentPageAccess()) ?? (await requireCompletedSignIn('/admin'))
  return (
    <div className="mx-auto flex w-full max-w-7xl grow flex-col lg:flex-row">
      <Messages>
        <AdminNavigation role={person.role} />
      </Messages>
      <div className="flex min-w-0 grow flex-col">{children}</div>
    </div>
  )
}
