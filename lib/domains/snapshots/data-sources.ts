import type { Transaction } from '#lib/kernel/context.ts'
import type { DataSource } from '#lib/kernel/data-source.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { holdingOf, preferIndexes, rowsOfAgents } from '#lib/stores/postgres/legal-hold-rows.ts'
import type { MissingStoreData } from '#lib/stores/registered-store.ts'
import { objectsOfAgent } from './making.ts'
import type { SnapshotPorts } from './ports.ts'
import { keyInventory, objectInventory, objectsOfAgents, snapshotsOfAgents } from './repository.ts'

export interface SnapshotSourcePorts extends Pick<SnapshotPorts, 'db' | 'objects' | 'keys'> {
  whatIsMissing: MissingStoreData
}
const agentsOf = (scope: ErasureScope): readonly string[] => ('subject' in scope ? scope.subject.agents : [])
const listed = 1_000

/** Erased first: without its key, no copy of a snapshot can be opened, wherever it is stored. */
const keyDataSource = ({ db, keys }: SnapshotSourcePorts): DataSource => ({
  name: 'snapshots.keys',
  store: 'snapshot_keys',
  stage: 'derived',
  what: 'wrapped keys of snapshots, stored outside the database and its backups: destroyed first, so that no copy of a snapshot can be opened any more',
  held: 'wrapped keys of snapshots, which your keyring can open',
  purpose: 'to make every copy of a snapshot unreadable by destroying its key',
  kept: 'as long as the snapshot exists',
  tables: [],
  inventory: async ({ agents }) => holdingOf(await keyInventory(db, { agents })),
  async plan(scope, tx) {
    await preferIndexes(tx)
    const rows = await snapshotsOfAgents(tx, { agents: agentsOf(scope) })
    const [items, watched]: [string[], string[]] = [[], []]
    for (const { id } of rows) ((await keys.exists(id)) ? items : watched).push(id)
    return { items: items.sort(), watched: watched.sort(), held: {} }
  },
  async erase(_scope, items, tx, options) {
    const destroyed = await keys.destroy(items, tx)
    // For watched items, counts the destroyed keys. Planned items all existed and all count, even if a crash destroyed
    // them uncounted.
    return options?.isWatched ? destroyed : items.length
  },
  /** Checks the keys of the planned items and of all current rows. */
  async residue(scope, items) {
    const rows = await db.prisma.snapshot.findMany({
      where: { agentId: { in: [...agentsOf(scope)] } },
      select: { id: true },
    })
    const ids = new Set([...items, ...rows.map((row) => row.id)])
    if (ids.size > 0) await keys.check()
    let left = 0
    for (const id of ids) if (await keys.exists(id)) left += 1
    return left
  },
})

/** Erased after the keys, and before the rows that name the objects. */
function objectDataSource({ db, objects, whatIsMissing }: SnapshotSourcePorts): DataSource {
  async function checkMissing(tx?: Transaction): Promise<void> {
    const missing = await whatIsMissing(tx)
    if (missing.length > 0)
      throw new Problem(
        'unavailable',
        `${missing.length} object stores that stored data are no longer connected. Connect them again, or confirm that they no longer contain data.`,
      )
  }
  async function under(agents: readonly string[]): Promise<string[]> {
    const keys: string[] = []
    for (const agent of agents)
      for (let after = ''; ; ) {
        const page = await objects.list(objectsOfAgent(agent), after, listed)
        keys.push(...page)
        const last = page.at(-1)
        if (last === undefined || page.length < listed) break
        after = last
      }
    return keys
  }
  return {
    name: 'snapshots.objects',
    store: 'objects',
    stage: 'content',
    pageSize: 50,
    what: 'sealed snapshots of agents and uploaded states, in every version',
    purpose: 'to let the owner restore an agent',
    kept: 'on demand: four hours; automatic: 30 days after the agent is retired; uploaded state: until it is replaced or deleted',
    tables: [],
    inventory: async ({ agents }) => holdingOf(await objectInventory(db, { agents })),
    async plan(scope, tx) {
      const agents = agentsOf(scope)
      if (agents.length === 0) return { items: [], held: {} }
      const rows = await objectsOfAgents(tx, { agents })
      const items = new Set(rows.filter(({ exists }) => exists).map(({ key }) => key))
      try {
        for (const key of await under(agents)) items.add(key)
      } catch (error) {
        // A plan is also made while the store is down. Its step waits for the store.
        if (!Problem.is(error, 'unavailable')) throw error
      }
      const watched = rows.map(({ key }) => key).filter((key) => !items.has(key))
      return { items: [...items].sort(), watched: watched.sort(), held: {} }
    },
    async erase(_scope, items, tx, options) {
      if (items.length === 0) return 0
      await checkMissing(tx)
      const erased = await objects.erase(items)
      return options?.isWatched ? erased : items.length
    },
    /** Lists the versions of every planned key and everything under the prefixes of the agents. */
    async residue(scope, items) {
      const agents = agentsOf(scope)
      if (items.length === 0 && agents.length === 0) return 0
      await checkMissing()
      const left = new Set(await under(agents))
      for (const key of items) if (!left.has(key) && (await objects.versions(key)).length > 0) left.add(key)
      return left.size
    },
  }
}

/** Erasure order: keys, objects, then the rows that name both. */
export const snapshotDataSources = (ports: SnapshotSourcePorts): DataSource[] => [
  keyDataSource(ports),
  objectDataSource(ports),
  rowsOfAgents(ports.db, {
    ...{ name: 'snapshots.links', stage: 'agent', table: 'snapshot_links', at: 'created_at' },
    // The id is the hash of the token: a link must not be named by its token.
    id: "encode(token_hash, 'hex')",
    what: 'links to snapshots, as hashes of their tokens',
    purpose: 'to let the owner download a snapshot',
    kept: 'four hours',
  }),
  rowsOfAgents(ports.db, {
    ...{ name: 'snapshots.rows', stage: 'agent', table: 'snapshots', at: 'created_at', id: 'id' },
    what: 'records of snapshots: time, kind and expiry of each',
    purpose: 'to list the snapshots of an agent',
    kept: 'as long as the snapshot exists',
  }),
  rowsOfAgents(ports.db, {
    ...{ name: 'snapshots.state', stage: 'agent', table: 'state_bundles', at: 'uploaded_at', id: 'agent_id' },
    what: 'records of the states that agents uploaded',
    purpose: 'to include the state in the agent’s snapshots',
    kept: 'until it is replaced or deleted',
  }),
]
