import type { Metadata } from 'next'
import { notFound } from 'next/navigation'
import { getTranslations } from 'next-intl/server'
import { ErasureDesk } from '#components/erasures/erasure-desk.tsx'
import { Words } from '#components/frame/words.tsx'
import { app } from '#lib/app-instance.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { ask, opened } from '../../../reader.ts'

export const generateMetadata = async (): Promise<Metadata> => ({
  title: (await getTranslations('erasures'))('one.name'),
})

async function erasureNamed(id: string) {
  try {
    return await ask(app.requests.readErasure, { params: { id } })
  } catch (error) {
    // An id in an invalid format is also a missing erasure.
    if (Problem.is(error, 'not_found', 'invalid')) notFound()
    throw error
  }
}

export default async function ErasurePage({ params }: { params: Promise<{ id: string }> }) {
  const person = await opened('erasure')
  const initial = await erasureNamed((await params).id)
  return (
    <Words of={['erasures', 'adminRequest', 'storeProgress']}>
      <ErasureDesk key={initial.data.run_id} initial={initial} isAdmin={person.role === 'admin'} />
    </Words>
  )
}
