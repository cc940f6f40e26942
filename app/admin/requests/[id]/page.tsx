import type { Metadata } from 'next'
import { notFound } from 'next/navigation'
import { getTranslations } from 'next-intl/server'
import { Words } from '#components/frame/words.tsx'
import { RequestDesk } from '#components/queue/request-desk.tsx'
import { app } from '#lib/app-instance.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { ask, opened } from '../../../reader.ts'

export const generateMetadata = async (): Promise<Metadata> => ({
  title: (await getTranslations('adminRequest'))('name'),
})

async function requestNamed(id: string) {
  try {
    return await ask(app.requests.readAny, { params: { id } })
  } catch (error) {
    // An id in an invalid format is also a missing request.
    if (Problem.is(error, 'not_found', 'invalid')) notFound()
    throw error
  }
}

export default async function RequestPage({ params }: { params: Promise<{ id: string }> }) {
  const person = await opened('request')
  const [initial, minders] = await Promise.all([requestNamed((await params).id), ask(app.requests.listMinders)])
  return (
    <Words of={['queue', 'adminRequest', 'storeProgress']}>
      <RequestDesk key={initial.data.id} initial={initial} me={person.account_id} minders={minders.data} />
    </Words>
  )
}
