import { type Endpoint, request } from '#lib/client/request.ts'
import type { findActors } from '#lib/domains/audit/contract.ts'

export const actorsAt: Endpoint<typeof findActors> = { method: 'get', path: '/api/audit/actors' }

/** The chosen id, or the typed text without a choice. */
export interface Named {
  id: string | null
  text: string
}
export type ActorProblem = 'noActor' | 'manyActors'

/** The id of a chosen or typed person or agent; null for no text. A text that fits nobody or several is a problem, not an empty list. */
export async function resolveActor({ id, text }: Named): Promise<string | null | { problem: ActorProblem }> {
  const q = text.trim()
  if (id !== null || q === '') return id
  // Ids of people and jobs are complete; those of deleted people are found too.
  if (/^(user|system):/.test(q)) return q
  if (q.length < 2) return { problem: 'noActor' }
  const { data } = await request(actorsAt, { query: { q } })
  const isExact = (value: string | null) => value?.toLowerCase() === q.toLowerCase()
  const exact = data.filter((actor) => isExact(actor.name) || isExact(actor.email) || isExact(actor.id))
  const [first, second] = exact.length > 0 ? exact : data
  if (!first) return { problem: 'noActor' }
  return second ? { problem: 'manyActors' } : first.id
}
