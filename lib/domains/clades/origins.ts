import type { Transaction } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { CladeAgent, CladePorts } from './ports.ts'
import { sharesOfClade } from './repository.ts'
import { mostGenerations, shareIdForm } from './rules.ts'

/** The ancestry of an entry: its parents, its own id, and the origins that a client found through private entries. */
interface Ancestry {
  parents: readonly string[]
  own: string | undefined
  origins: readonly string[] | undefined
}

/**
 * Shares of siblings that the entry derives from, through the agent's own entries.
 * @throws Problem `conflict` when an origin was recalled or a part of the ancestry cannot be read
 */
export async function originsOf(
  entriesOf: CladePorts['entriesOf'],
  tx: Transaction,
  agent: CladeAgent,
  { parents, own, origins: declared }: Ancestry,
  now: Date,
): Promise<string[]> {
  const origins = new Set<string>(declared)
  const seen = new Set<string>()
  let next = [...parents, ...(own === undefined ? [] : [own])]
  for (let generation = 0; next.length > 0 && generation < mostGenerations; generation++) {
    const fresh = next.filter((id) => !seen.has(id))
    for (const id of fresh) {
      seen.add(id)
      if (shareIdForm.test(id)) origins.add(id)
    }
    const ids = fresh.filter((id) => id.startsWith('ent_'))
    const entries = await entriesOf(tx, agent.id, ids, now)
    // The client has opened the entry that it shares, so only its private parents are a problem.
    if (declared === undefined && [...entries].some(([id, entry]) => entry === 'private' && id !== own))
      throw new Problem(
        'conflict',
        'The entry derives from a private entry, whose origins the server cannot read. Nothing was sent. Use `kp clade share`, which finds the origins and sends them as `origins`.',
      )
    next = [...entries.values()].flatMap((entry) => (entry === 'private' ? [] : entry.parents))
  }
  if (next.some((id) => !seen.has(id)))
    throw new Problem(
      'conflict',
      `The entry derives from more than ${mostGenerations} generations of entries, so a recall could not reach it. Nothing was sent.`,
    )
  if (origins.size === 0) return []
  const shares = await sharesOfClade(tx, { ids: [...origins], clade: agent.cladeId })
  if (shares.some(({ recalled }) => recalled))
    throw new Problem('conflict', 'The entry derives from a share that a sibling recalled. Nothing was sent.')
  return shares.map(({ id }) => id)
}
