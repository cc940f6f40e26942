import type { Metadata } from 'next'
import { notFound } from 'next/navigation'
import { getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { ErasureDesk } from '#components/erasures/erasure-desk.tsx'
import { Messages } from '#components/frame/words.tsx'
import { app } from '#lib/app-instance.ts'
import { Problem } from '#lib/kernel/problem.ts'

export const generateMetadata = async (): Promise<Metadata> => ({
  title: (await getTranslations('erasures'))('one.name'),
})

async function erasureNamed(id: string) {
  try {
    return await callUseCase(app.requests.readErasure, { params: { id } })
  } catch (error) {
    // An id in an invalid format is also a missing erasure.
    if (Problem.is(error, 'not_found', 'invalid')) notFound()
    throw error
  }
}

export default async function ErasurePage({ params }: { params: Promise<{ id: string }> }) {
  const person = await requirePageAccess('erasure')
  const initial = await erasureNamed((await params).id)
  return (
    <Messages of={['erasures', 'adminRequest', 'storeProgress', 'erasurePlaces', 'dataNames']}>
      <ErasureDesk key={initial.data.run_id} initial={initial} isAdmin={person.role === 'admin'} />
    </Messages>
  )
}
