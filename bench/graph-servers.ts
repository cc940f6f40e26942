import { setTimeout as delay } from 'node:timers/promises'
import { Problem } from '#lib/kernel/problem.ts'
import { neo4jGraph } from '#lib/stores/graph/neo4j-graph.ts'
import { openDatabase } from '#lib/stores/postgres/database.ts'
import { neo4jPlanting } from '#lib/testing/neo4j-planting.ts'
import type { GraphPlanting } from '#lib/testing/planted-graph.ts'
import { postgresPlanting } from '#lib/testing/postgres-planting.ts'
import { isInstalled } from '#lib/testing/services/installed.ts'
import { startNeo4j } from '#lib/testing/services/neo4j.ts'

/** Where an installation keeps its graph. */
export interface GraphServer {
  name: 'PostgreSQL' | 'Neo4j'
  /** The settings that say so. */
  env: Record<string, string>
  /** Of an installation by the URL of its database. */
  planting(appUrl: string): { planting: GraphPlanting; close(): Promise<void> }
  /** What comes once, with the first erasure of an installation: its indexes are built. */
  settle(): Promise<void>
}

/** Asks until what is asked is answered: while indexes are built over much that is there, Neo4j refuses. */
async function untilIndexed(url: string): Promise<void> {
  const store = neo4jGraph(url)
  const deadline = performance.now() + 1_800_000
  try {
    for (;;)
      try {
        return void (await store.residue('nobodys', ['nothing']))
      } catch (error) {
        if (!Problem.is(error) || error.code !== 'unavailable' || performance.now() > deadline) throw error
        await delay(1_000)
      }
  } finally {
    await store.close()
  }
}

/** Our own tables, then a Neo4j, which is started when its turn comes and ends with the scope. */
export async function* graphServers(scope: AsyncDisposableStack): AsyncGenerator<GraphServer> {
  yield {
    name: 'PostgreSQL',
    env: {},
    planting(appUrl) {
      const db = openDatabase(appUrl)
      return { planting: postgresPlanting(db), close: () => db.close() }
    },
    settle: async () => {},
  }
  if (!isInstalled('neo4j')) {
    console.log('  Neo4j is not installed (.ci/services installs it): its row is left out.')
    return
  }
  const server = await startNeo4j({ heap: 2_048, cache: 1_024, isForLong: true })
  scope.defer(() => server.stop())
  yield {
    name: 'Neo4j',
    env: { KP_GRAPH_URL: server.url },
    planting() {
      const planting = neo4jPlanting(server.url)
      return { planting, close: () => planting.close() }
    },
    settle: () => untilIndexed(server.url),
  }
}
