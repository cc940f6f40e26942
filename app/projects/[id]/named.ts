import { notFound } from 'next/navigation'
import { cache } from 'react'
import { callUseCase } from '#app/page-access.ts'
import { app } from '#lib/app-instance.ts'
import { Problem } from '#lib/kernel/problem.ts'

/** Returns the result of `work`; renders the 404 page when the record is missing or erased or the id is invalid. */
export async function orNotFound<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    // An id that cannot be decoded is treated as a missing record.
    if (error instanceof URIError) notFound()
    if (Problem.is(error, 'not_found', 'invalid', 'erased')) notFound()
    throw error
  }
}

/** The project in the URL, as the user may see it. Loaded once per page. */
export const projectNamed = cache((id: string) =>
  orNotFound(
    async () => (await callUseCase(app.projects.read, { params: { projectId: decodeURIComponent(id) } })).data,
  ),
)
