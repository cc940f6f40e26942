import { loadOwnAgents } from '../own-agents.ts'

/** Names of the reader's agents by id, if one of the ids is given. An agent that is deleted or older than the newest 100 has no name. */
export async function namesOfAgents(ids: readonly (string | null)[]): Promise<Record<string, string>> {
  if (ids.every((id) => id === null)) return {}
  const { agents } = await loadOwnAgents()
  return Object.fromEntries(agents.map(({ id, name }) => [id, name]))
}
