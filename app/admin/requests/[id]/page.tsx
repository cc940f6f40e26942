import type { Metadata } from 'next'
import { notFound } from 'next/navigation'
import { getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { Messages } from '#components/frame/words.tsx'
import { RequestDesk } from '#components/queue/request-desk.tsx'
import { app } from '#lib/app-instance.ts'
import { Problem } from '#lib/kernel/problem.ts'

export const generateMetadata = async (): Promise<Metadata> => ({
  title: (await getTranslations('adminRequest'))('name'),
})

async function requestNamed(id: string) {
  try {
    return await callUseCase(app.requests.readAny, { params: { id } })
  } catch (error) {
    // An id in an invalid format is also a missing request.
    if (Problem.is(error, 'not_found', 'invalid')) notFound()
    throw error
  }
}

export default async function RequestPage({ params }: { params: Promise<{ id: string }> }) {
  const person = await requirePageAccess('request')
  const [initial, minders] = await Promise.all([requestNamed((await params).id), callUseCase(app.requests.listMinders)])
  return (
    <Messages
      of={[
        'queue',
        'adminRequest',
        'storeProgress',
        'erasurePlaces',
        'dataNames',
        'causes',
        ...(initial.data.kinds.includes('rectification') ? (['knowledge'] as const) : []),
      ]}
    >
      <RequestDesk key={initial.data.id} initial={initial} me={person.account_id} minders={minders.data} />
    </Messages>
  )
}
