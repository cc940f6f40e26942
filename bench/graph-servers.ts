import { setTimeout as delay } from 'node:timers/promises'
import { Problem } from '#lib/kernel/problem.ts'
import { neo4jGraph } from '#lib/stores/graph/neo4j-graph.ts'
import { openDatabase } from '#lib/stores/postgres/database.ts'
import { neo4jPlanting } from '#lib/testing/neo4j-planting.ts'
import type { GraphPlanting } from '#lib/testing/planted-graph.ts'
import { postgresPlanting } from '#lib/testing/postgres-planting.ts'
import { isInstalled } from '#lib/testing/services/installed.ts'
import { startNeo4j } from '#lib/testing/services/neo4j.ts'

/** The store of an installation's graph. */
export interface GraphServer {
  name: 'PostgreSQL' | 'Neo4j'
  /** The settings that select it. */
  env: Record<string, string>
  /** Opens the planting for an installation by its database URL. */
  planting(appUrl: string): { planting: GraphPlanting; close(): Promise<void> }
  /** Does the one-time work of an installation's first erasure: builds the indexes. */
  settle(): Promise<void>
}

/** Retries until a query succeeds, because Neo4j rejects queries while it builds large indexes. */
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

/** The main database's own tables, then a Neo4j, which is started when it is reached and ends with the scope. */
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
