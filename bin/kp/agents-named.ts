import { readSelf } from '#lib/domains/tokens/contract.ts'
import { usageFailure } from './failure.ts'
import type { CommandActor } from './person.ts'

/** The named agent, or by default the agent of the token. */
export async function namedAgent({ call, person }: CommandActor, id: string | undefined): Promise<string> {
  if (id !== undefined) return id
  const self = person ? null : (await call(readSelf)).body.data.agent_id
  if (self === null) throw usageFailure('No agent was named. Give its id; kp agent list shows your agents.')
  return self
}
