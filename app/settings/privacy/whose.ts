import { notFound } from 'next/navigation'
import { app } from '#lib/app-instance.ts'
import type { OperationShape, RawInput } from '#lib/kernel/operation.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { UseCase } from '#lib/kernel/use-case.ts'
import { ask } from '../../reader.ts'

export interface Whose {
  id: string
  /** What a person reads: its name, else its id. */
  name: string
}
const most = 100

/** The agent that an address names in its query; undefined where it names none. */
export const agentIn = (value: string | string[] | undefined): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined

/** The person's agents, newest first, a hundred at most, and how many there are. */
export async function ownAgents(): Promise<{ agents: Whose[]; total: number }> {
  const { data, total } = await ask(app.agents.listOwn, { query: { limit: String(most) } })
  return { agents: data.map(({ agent_id: id, name }) => ({ id, name: name ?? id })), total }
}

/** As `ask`: what is not there, or not theirs, is the page that says so. */
export async function askOwn<O extends OperationShape>(useCase: UseCase<O>, input: Partial<RawInput> = {}) {
  try {
    return await ask(useCase, input)
  } catch (error) {
    // An id of the wrong form is nobody's agent either.
    if (Problem.is(error, 'not_found', 'invalid')) notFound()
    throw error
  }
}
