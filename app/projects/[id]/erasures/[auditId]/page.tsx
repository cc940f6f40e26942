import type { Metadata } from 'next'
import { notFound } from 'next/navigation'
import { getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { Messages } from '#components/frame/words.tsx'
import type { Project } from '#components/projects/endpoints.ts'
import { PartErasurePanel } from '#components/projects/part-erasure.tsx'
import { app } from '#lib/app-instance.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { orNotFound } from '../../named.ts'

export const generateMetadata = async (): Promise<Metadata> => ({
  title: (await getTranslations('projects.erasure'))('name'),
})

/** The project; undefined when the user can no longer see it. */
async function projectOf(projectId: string): Promise<Project | undefined> {
  try {
    return (await callUseCase(app.projects.read, { params: { projectId } })).data
  } catch (error) {
    if (Problem.is(error)) return undefined
    throw error
  }
}

export default async function PartErasurePage({ params }: { params: Promise<{ id: string; auditId: string }> }) {
  const person = await requirePageAccess('partErasure')
  const { id, auditId } = await params
  const initial = await orNotFound(() =>
    callUseCase(app.requests.readErasure, { params: { id: decodeURIComponent(auditId) } }),
  )
  const projectId = await orNotFound(async () => decodeURIComponent(id))
  // The erasure must belong to the project in the URL.
  if (initial.data.part?.project_id !== projectId) notFound()
  const isAdmin = person.role === 'admin'
  const project = await projectOf(projectId)
  const owns = project?.role === 'owner'
  return (
    <Messages
      of={['projects', 'storeProgress', 'erasurePlaces', 'dataNames', ...(isAdmin ? (['adminRequest'] as const) : [])]}
    >
      <PartErasurePanel
        key={initial.data.run_id}
        projectId={projectId}
        projectName={project?.name}
        initial={initial}
        isAdmin={isAdmin}
        mayDelete={isAdmin || owns}
        mayRetry={person.role !== 'auditor' || owns}
      />
    </Messages>
  )
}
