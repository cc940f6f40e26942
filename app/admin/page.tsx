import { forbidden, redirect } from 'next/navigation'
import { requireCompletedSignIn } from '#app/page-access.ts'
import { navigationOf } from '#components/frame/pages.ts'

/** Redirects to the first administration page that the user's role may open; responds with 403 if there is none. */
export default async function AdminPage() {
  const { role } = await requireCompletedSignIn('/admin')
  const [first] = navigationOf('admin', role)
  if (!first) forbidden()
  redirect(first.path)
}
