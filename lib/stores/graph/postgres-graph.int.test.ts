import { testDatabase } from '#lib/testing/database.ts'
import { postgresPlanting } from '#lib/testing/postgres-planting.ts'
import { openDatabase } from '../postgres/database.ts'
import { postgresGraph } from './postgres-graph.ts'
import { graphSuite } from './suite/graph-suite.ts'

const tables = ['episodes', 'entities', 'facts', 'mentions', 'gatherings', 'links']

graphSuite('the graph in our own tables', async () => {
  const database = await testDatabase()
  const db = openDatabase(database.appUrl, { isGuarded: true })
  return {
    store: postgresGraph(db),
    planting: postgresPlanting(db),
    transaction: db.transaction,
    remembers: false,
    async dump(group) {
      const { rows } = await db.pool.query(
        tables
          .map((table) => `SELECT '${table}' AS of, to_jsonb(t)::text AS row FROM graph_${table} t WHERE group_id = $1`)
          .join(' UNION ALL ')
          .concat(' ORDER BY 1, 2'),
        [group],
      )
      return JSON.stringify(rows)
    },
    async close() {
      await db.close()
      await database.drop()
    },
  }
})
