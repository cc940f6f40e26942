import { notFound } from 'next/navigation'
import { callUseCase } from '#app/page-access.ts'
import { isSkillId, type SkillRecord, type UnitRecord } from '#components/knowledge/knowledge.ts'
import { app } from '#lib/app-instance.ts'
import { Problem } from '#lib/kernel/problem.ts'

export type Shown = { unit: UnitRecord } | { skill: SkillRecord } | { gone: string }

/** The unit or skill with this id, or the id of its receipt (`gone`) if it was erased. Renders the 404 page if there is neither. */
export async function recordNamed(address: string): Promise<Shown> {
  try {
    const id = decodeURIComponent(address)
    const input = { params: { id } }
    return isSkillId(id)
      ? { skill: (await callUseCase(app.inspection.inspectSkill, input)).data }
      : { unit: (await callUseCase(app.inspection.inspectUnit, input)).data }
  } catch (error) {
    if (error instanceof URIError) notFound()
    if (!Problem.is(error)) throw error
    const receipt = error.extensions.receipt_id
    if (error.code === 'erased' && typeof receipt === 'string') return { gone: receipt }
    // An id in an invalid format is treated as a missing record.
    if (error.code === 'not_found' || error.code === 'invalid') notFound()
    throw error
  }
}
