import { judge } from '#lib/domains/projects/graph/rules.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { GraphPlanting, GraphStore } from '#lib/stores/graph/graph.ts'
import { neo4jGraph } from '#lib/stores/graph/neo4j-graph.ts'
import { neo4jPlanting } from '#lib/stores/graph/neo4j-planting.ts'
import { postgresGraph } from '#lib/stores/graph/postgres-graph.ts'
import { postgresPlanting } from '#lib/stores/graph/postgres-planting.ts'
import { openDatabase } from '#lib/stores/postgres/database.ts'
import { sharedGraph } from '#lib/testing/graphs.ts'
import { isInstalled } from '#lib/testing/services/installed.ts'
import { startNeo4j } from '#lib/testing/services/neo4j.ts'
import { startCluster } from './installation.ts'
import { median, type Row } from './row.ts'
import { withScope } from './scope.ts'

const MOST = 3

export interface Sizes {
  /** Entities of the small and of the large graph; each has ten facts and half an episode, so that an episode touches as much in both. */
  small: number
  large: number
  /** Messages erased out of each, in turn; and before them some that do not count. */
  messages: number
  warm: number
}
export const full: Sizes = { small: 1_000, large: 100_000, messages: 15, warm: 3 }

interface Opened {
  name: string
  store: GraphStore
  planting: GraphPlanting
  transaction<T>(run: (tx: Transaction) => Promise<T>): Promise<T>
  /** After planting: what a server does by itself in the course of a day. */
  settle(): Promise<void>
}

/** Milliseconds from the change of one message to its verification. */
async function erase({ store, transaction }: Opened, group: string, episode: string): Promise<number> {
  const policy = { entityKinds: {}, redacts: false, provenance: { endedBy: new Map(), goes: new Set([episode]) } }
  const started = performance.now()
  const { episodesDeleted } = await transaction((tx) =>
    store.change(group, [episode], `bench/${episode}`, (found) => judge(found, policy).change, tx),
  )
  const left = await store.residue(group, [episode])
  const took = performance.now() - started
  if (episodesDeleted !== 1 || left !== 0)
    throw new Error(`${episodesDeleted} episodes went, and ${left} places still name it`)
  return took
}

/** One message out of a small and out of a large graph in the same store, in turn, so that both meet the same machine. */
async function measureStore(opened: Opened, { small, large, messages, warm }: Sizes): Promise<Row> {
  const groups = [
    { group: 'small', entities: small },
    { group: 'large', entities: large },
  ].map(({ group, entities }) => ({ group, entities, took: [] as number[], ids: [] as string[] }))
  for (const one of groups) {
    const made = sharedGraph(one.group, {
      episodes: Math.ceil(one.entities / 2),
      entities: one.entities,
      facts: one.entities * 10,
    })
    const started = performance.now()
    await opened.planting.plant(made)
    console.log(`  ${opened.name}: planted ${one.group} in ${Math.round((performance.now() - started) / 1000)} s`)
    const step = Math.floor(made.episodes.length / (messages + warm))
    one.ids = Array.from({ length: messages + warm }, (_, n) => made.episodes[n * step]?.uuid ?? '')
  }
  await opened.settle()
  for (let n = 0; n < messages + warm; n++)
    for (const one of groups) {
      const took = await erase(opened, one.group, one.ids[n] ?? '')
      if (n >= warm) one.took.push(took)
    }
  const [little, much] = groups.map(({ took }) => median(took))
  const value = much ?? Number.NaN
  const facts = (large * 10).toLocaleString('en')
  return {
    name: `${opened.name}: one message erased and verified out of a graph with ${large.toLocaleString('en')} entities and ${facts} facts, median of ${messages}`,
    value,
    unit: 'ms',
    ceiling: { name: `with ${small.toLocaleString('en')} entities`, value: little ?? Number.NaN },
    bar: `at most ${MOST} ×`,
    met: value <= MOST * (little ?? 0),
  }
}

export const run = (): Promise<Row[]> => withScope((scope) => measure(scope, full))

export async function measure(scope: AsyncDisposableStack, sizes: Sizes): Promise<Row[]> {
  const rows: Row[] = []
  const cluster = await startCluster(scope)
  const { appUrl } = await cluster.open('graph')
  const db = openDatabase(appUrl)
  scope.defer(() => db.close())
  rows.push(
    await measureStore(
      {
        name: 'PostgreSQL',
        store: postgresGraph(db),
        planting: postgresPlanting(db),
        transaction: db.transaction,
        settle: async () => void (await db.pool.query('ANALYZE')),
      },
      sizes,
    ),
  )
  if (!isInstalled('neo4j')) {
    console.log('  Neo4j is not installed (.ci/services installs it): its row is left out.')
    return rows
  }
  const ended = await db.transaction(async (tx) => tx) // Neo4j takes no part in ours
  const server = await startNeo4j({ heap: 2_048, cache: 1_024 })
  scope.defer(() => server.stop())
  const store = neo4jGraph(server.url)
  const planting = neo4jPlanting(server.url)
  scope.defer(async () => void (await Promise.all([store.close(), planting.close()])))
  rows.push(
    await measureStore(
      {
        name: 'Neo4j',
        store,
        planting,
        transaction: (work) => work(ended),
        // Indexes are built and filled by the first question.
        async settle() {
          await store.residue('small', [''])
        },
      },
      sizes,
    ),
  )
  return rows
}
