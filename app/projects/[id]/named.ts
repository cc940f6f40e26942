import { notFound } from 'next/navigation'
import { cache } from 'react'
import { app } from '#lib/app-instance.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { ask } from '../../reader.ts'

/** What `work` gives; the page that says that nothing is there where it is refused so. */
export async function orNotFound<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    // An id of a form that none has is nobody's either.
    if (error instanceof URIError) notFound()
    if (Problem.is(error, 'not_found', 'invalid', 'erased')) notFound()
    throw error
  }
}

/** The project that an address names, as its reader sees it. */
export const projectNamed = cache((id: string) =>
  orNotFound(async () => (await ask(app.projects.read, { params: { projectId: decodeURIComponent(id) } })).data),
)
