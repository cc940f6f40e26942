import type { Metadata } from 'next'
import { notFound } from 'next/navigation'
import { getTranslations } from 'next-intl/server'
import { Words } from '#components/frame/words.tsx'
import { RequestView } from '#components/requests/request-view.tsx'
import { app } from '#lib/app-instance.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { ask, opened } from '../../../../reader.ts'
import { identityOf } from '../../identity.ts'

export const generateMetadata = async (): Promise<Metadata> => ({
  title: (await getTranslations('requests'))('request.name'),
})

async function requestNamed(id: string) {
  try {
    return (await ask(app.requests.read, { params: { id } })).data
  } catch (error) {
    // An id in an invalid format is also a missing request.
    if (Problem.is(error, 'not_found', 'invalid')) notFound()
    throw error
  }
}

export default async function OwnRequestPage({ params }: { params: Promise<{ id: string }> }) {
  const person = await opened('ownRequest')
  const request = await requestNamed((await params).id)
  return (
    <Words of={['requests', 'timeline', 'storeProgress']}>
      <RequestView initial={request} hasPassword={identityOf(person).hasPassword} />
    </Words>
  )
}
