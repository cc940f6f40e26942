import { notFound } from 'next/navigation'
import { callUseCase } from '#app/page-access.ts'
import { app } from '#lib/app-instance.ts'
import type { OperationShape, RawInput } from '#lib/kernel/operation.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { UseCase } from '#lib/kernel/use-case.ts'

export interface OwnAgentOption {
  id: string
  /** Name for display; the id if the agent has no name. */
  name: string
}
const most = 100

/** The agent id in a query parameter; undefined if there is none. */
export const agentIn = (value: string | string[] | undefined): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined

/** The person's agents, newest first, at most 100, and their total number. */
export async function loadOwnAgents(): Promise<{ agents: OwnAgentOption[]; total: number }> {
  const { data, total } = await callUseCase(app.agents.listOwn, { query: { limit: String(most) } })
  return { agents: data.map(({ agent_id: id, name }) => ({ id, name: name ?? id })), total }
}

/** As {@link callUseCase}; renders the 404 page when the record does not exist or belongs to somebody else. */
export async function callForOwnAgent<O extends OperationShape>(useCase: UseCase<O>, input: Partial<RawInput> = {}) {
  try {
    return await callUseCase(useCase, input)
  } catch (error) {
    // An id in an invalid format is also a missing agent.
    if (Problem.is(error, 'not_found', 'invalid')) notFound()
    throw error
  }
}
