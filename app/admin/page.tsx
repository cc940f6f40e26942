import { forbidden, redirect } from 'next/navigation'
import { navigationOf } from '#components/frame/pages.ts'
import { settled } from '../reader.ts'

/** The first page of the administration that the reader's role has. */
export default async function AdminPage() {
  const { role } = await settled('/admin')
  const [first] = navigationOf('admin', role)
  if (!first) forbidden()
  redirect(first.path)
}
