import type { Metadata } from 'next'
import { notFound } from 'next/navigation'
import { getTranslations } from 'next-intl/server'
import { Words } from '#components/frame/words.tsx'
import { PartErasure } from '#components/projects/part-erasure.tsx'
import { app } from '#lib/app-instance.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { ask, opened } from '../../../../reader.ts'
import { orNotFound } from '../../named.ts'

export const generateMetadata = async (): Promise<Metadata> => ({
  title: (await getTranslations('projects.erasure'))('name'),
})

/** Of a project that the reader no longer sees, they are no owner. */
async function isOwner(projectId: string): Promise<boolean> {
  try {
    return (await ask(app.projects.read, { params: { projectId } })).data.role === 'owner'
  } catch (error) {
    if (Problem.is(error)) return false
    throw error
  }
}

export default async function PartErasurePage({ params }: { params: Promise<{ id: string; auditId: string }> }) {
  const person = await opened('partErasure')
  const { id, auditId } = await params
  const initial = await orNotFound(() => ask(app.requests.readErasure, { params: { id: decodeURIComponent(auditId) } }))
  const projectId = await orNotFound(async () => decodeURIComponent(id))
  // Another project's erasure has no place under this one's address.
  if (initial.data.part?.project_id !== projectId) notFound()
  const isAdmin = person.role === 'admin'
  const owns = await isOwner(projectId)
  return (
    <Words of={['projects', 'storeProgress', ...(isAdmin ? (['adminRequest'] as const) : [])]}>
      <PartErasure
        key={initial.data.run_id}
        projectId={projectId}
        initial={initial}
        isAdmin={isAdmin}
        mayDelete={isAdmin || owns}
        mayRetry={person.role !== 'auditor' || owns}
      />
    </Words>
  )
}
