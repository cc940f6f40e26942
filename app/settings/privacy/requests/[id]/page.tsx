import type { Metadata } from 'next'
import { notFound } from 'next/navigation'
import { getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { Messages } from '#components/frame/words.tsx'
import { RequestPanel } from '#components/requests/request-view.tsx'
import { app } from '#lib/app-instance.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { identityOf } from '../../identity.ts'
import { namesOfAgents } from '../agent-names.ts'

export const generateMetadata = async (): Promise<Metadata> => ({
  title: (await getTranslations('requests'))('request.name'),
})

async function requestNamed(id: string) {
  try {
    return (await callUseCase(app.requests.read, { params: { id } })).data
  } catch (error) {
    // An id in an invalid format is also a missing request.
    if (Problem.is(error, 'not_found', 'invalid')) notFound()
    throw error
  }
}

export default async function OwnRequestPage({ params }: { params: Promise<{ id: string }> }) {
  const person = await requirePageAccess('ownRequest')
  const request = await requestNamed((await params).id)
  const agentNames = await namesOfAgents([request.agent_id])
  return (
    <Messages of={['requests', 'timeline', 'storeProgress', 'erasurePlaces', 'dataNames']}>
      <RequestPanel
        initial={request}
        hasPassword={identityOf(person).hasPassword}
        agentName={request.agent_id === null ? undefined : agentNames[request.agent_id]}
      />
    </Messages>
  )
}
