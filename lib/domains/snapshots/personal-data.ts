import type { Transaction } from '#lib/kernel/context.ts'
import type { DataSource } from '#lib/kernel/data-source.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import type { Exporter } from '#lib/kernel/exporter.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { holdingOf, preferIndexes, rowsOfAgents } from '#lib/stores/postgres/personal-tables.ts'
import { jsonObject, recordPages, utc } from '#lib/stores/postgres/record-pages.ts'
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
    name: 'snapshots.links',
    stage: 'agent',
    table: 'snapshot_links',
    at: 'created_at',
    // The id is the hash of the token: a link must not be named by its token.
    id: "encode(token_hash, 'hex')",
    what: 'links to snapshots, as hashes of their tokens',
    purpose: 'to let the owner download a snapshot',
    kept: 'four hours',
  }),
  rowsOfAgents(ports.db, {
    name: 'snapshots.rows',
    stage: 'agent',
    table: 'snapshots',
    at: 'created_at',
    id: 'id',
    what: 'records of snapshots: time, kind and expiry of each',
    purpose: 'to list the snapshots of an agent',
    kept: 'as long as the snapshot exists',
  }),
  rowsOfAgents(ports.db, {
    name: 'snapshots.state',
    stage: 'agent',
    table: 'state_bundles',
    at: 'uploaded_at',
    id: 'agent_id',
    what: 'records of the states that agents uploaded',
    purpose: 'to include the state in the agent’s snapshots',
    kept: 'until it is replaced or deleted',
  }),
]

const hex = (column: string): string => `encode(${column}, 'hex')`

/** Metadata of snapshots and of the uploaded state. Their bytes have their own routes, and the other parts export the content. */
export const snapshotExporters = (db: Database): Exporter[] => [
  {
    part: 'snapshots',
    bases: ['all'],
    tables: ['snapshots'],
    pages: (agentId, { until }) =>
      recordPages(db, {
        from: 'snapshots s',
        where: 's.agent_id = $1 AND s.created_at <= $2',
        values: [agentId, until],
        at: 's.created_at',
        id: 's.id',
        columns:
          's.id, s.kind, s.state, s.key_id AS ring_id, s.bytes, s.digest, s.failure, s.created_at, s.ready_at, s.expires_at',
        record: jsonObject({
          id: 'c.id',
          kind: 'c.kind',
          state: 'c.state',
          key_id: 'c.ring_id',
          bytes: 'c.bytes',
          sha256: hex('c.digest'),
          failure: 'c.failure',
          created_at: utc('c.created_at'),
          ready_at: utc('c.ready_at'),
          expires_at: utc('c.expires_at'),
        }),
      }),
  },
  {
    part: 'snapshot_links',
    bases: ['all'],
    tables: ['snapshot_links'],
    pages: (agentId, { until }) =>
      recordPages(db, {
        from: 'snapshot_links l',
        where: 'l.agent_id = $1 AND l.created_at <= $2',
        values: [agentId, until],
        at: 'l.created_at',
        id: hex('l.token_hash'),
        columns: 'l.snapshot_id, l.created_at, l.expires_at',
        record: jsonObject({
          snapshot_id: 'c.snapshot_id',
          created_at: utc('c.created_at'),
          expires_at: utc('c.expires_at'),
        }),
      }),
  },
  {
    part: 'uploaded_state',
    bases: ['provided', 'all'],
    tables: ['state_bundles'],
    pages: (agentId, { until }) =>
      recordPages(db, {
        from: 'state_bundles b',
        where: 'b.agent_id = $1 AND b.uploaded_at <= $2',
        values: [agentId, until],
        at: 'b.uploaded_at',
        id: 'b.agent_id',
        columns: 'b.media_type, b.bytes, b.digest, b.uploaded_at',
        record: jsonObject({
          media_type: 'c.media_type',
          bytes: 'c.bytes',
          sha256: hex('c.digest'),
          uploaded_at: utc('c.uploaded_at'),
        }),
      }),
  },
]
