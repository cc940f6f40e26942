import neo4j from 'neo4j-driver'
import { beforeAll, describe, expect, it } from 'vitest'
import { noChange } from '#lib/domains/projects/graph/rules.ts'
import { newId } from '#lib/kernel/ids.ts'
import { openDatabase } from '#lib/stores/postgres/database.ts'
import { testDatabase } from '#lib/testing/database.ts'
import { neo4jPlanting } from '#lib/testing/neo4j-planting.ts'
import { isInstalled } from '#lib/testing/services/installed.ts'
import { neo4jServer } from '#lib/testing/services/shared.ts'
import { neo4jGraph } from './neo4j-graph.ts'
import { graphSuite } from './suite/graph-suite.ts'

describe.skipIf(!isInstalled('neo4j'))('Neo4j', () => {
  // A Java server starts slowly on a busy machine.
  beforeAll(() => neo4jServer(), 240_000)
  graphSuite('the graph in a Neo4j that Graphiti writes to', async () => {
    const database = await testDatabase()
    const db = openDatabase(database.appUrl, { isGuarded: true })
    const ended = await db.transaction(async (tx) => tx)
    const { url, port } = await neo4jServer()
    const { username, password } = new URL(url)
    const driver = neo4j.driver(`bolt://127.0.0.1:${port}`, neo4j.auth.basic(username, decodeURIComponent(password)))
    const store = neo4jGraph(url)
    const planting = neo4jPlanting(url)
    return {
      store,
      planting,
      // The store does not take part in our transactions, so one that has ended is enough, and any number can run at once.
      transaction: (run) => run(ended),
      remembers: true,
      async dump(group) {
        const { records } = await driver.executeQuery(
          `CALL () {
             MATCH (n) WHERE n.group_id = $group RETURN labels(n) AS of, properties(n) AS p, [] AS ends
             UNION ALL MATCH (a)-[r]->(b) WHERE a.group_id = $group OR b.group_id = $group OR r.group_id = $group
               RETURN [type(r)] AS of, properties(r) AS p, [a.uuid, b.uuid] AS ends
           } WITH * WHERE NOT 'KnowledgePulseGroup' IN of RETURN of, p, ends`,
          { group },
        )
        return records
          .map((record) => JSON.stringify(record.toObject()))
          .sort()
          .join('\n')
      },
      async close() {
        await Promise.all([store.close(), planting.close(), driver.close()])
        await db.close()
        await database.drop()
      },
    }
  })
  it('texts returns an attribute whose words begin in one element of a list and end in the next element', async () => {
    const { url, port } = await neo4jServer()
    const { username, password } = new URL(url)
    const driver = neo4j.driver(`bolt://127.0.0.1:${port}`, neo4j.auth.basic(username, decodeURIComponent(password)))
    const database = await testDatabase()
    const db = openDatabase(database.appUrl, { isGuarded: true })
    const tx = await db.transaction(async (one) => one)
    const store = neo4jGraph(url)
    const group = newId('grp').toLowerCase()
    try {
      await driver.executeQuery(
        `CREATE (a:Entity {group_id: $group, uuid: $group + '-a', name: 'A place', summary: '', met: ['seen at the old', 'harbor on friday']})
         CREATE (b:Entity {group_id: $group, uuid: $group + '-b', name: 'Another', summary: ''})
         CREATE (a)-[:RELATES_TO {group_id: $group, uuid: $group + '-f', name: 'NEAR', fact: 'near', said: ['next to the old', 'harbor']}]->(b)`,
        { group },
      )
      const found = []
      for await (const some of await store.texts(group, tx, (text) => text.includes('the old\nharbor')))
        found.push(...some)
      expect(found.map(({ id, field }) => `${id} ${field}`).sort()).toEqual([
        `${group}-a attributes.met`,
        `${group}-f attributes.said`,
      ])
      while ((await store.dropGroup(group, 10, tx)) > 0);
    } finally {
      await Promise.all([store.close(), driver.close()])
      await db.close()
      await database.drop()
    }
  }, 60_000)

  it('texts returns, change edits and dropGroup deletes nodes and links outside of Graphiti’s model', async () => {
    const { url, port } = await neo4jServer()
    const { username, password } = new URL(url)
    const driver = neo4j.driver(`bolt://127.0.0.1:${port}`, neo4j.auth.basic(username, decodeURIComponent(password)))
    const database = await testDatabase()
    const db = openDatabase(database.appUrl, { isGuarded: true })
    const tx = await db.transaction(async (one) => one)
    const store = neo4jGraph(url)
    const group = newId('grp').toLowerCase()
    try {
      await driver.executeQuery(
        `CREATE (a:Note {group_id: $group, text: 'a quokka', n: 5})-[:ABOUT {group_id: $group, why: 'the quokka'}]->(b:Entity {group_id: $group, name: 'a bare quokka'})
         CREATE (c {group_id: $group, uuid: 'unlabelled', tags: ['one', 'quokka']}) CREATE (b)-[:RELATES_TO {group_id: $group, fact: 'quokka here'}]->(c)
         CREATE (:Note {group_id: $group + '-other', text: 'a quokka'})`,
        { group },
      )
      const read = async () => {
        const found = []
        for await (const some of await store.texts(group, tx, (text) => text.includes('quokka'))) found.push(...some)
        return found
      }
      const found = await read()
      expect(found.map(({ kind, field }) => `${kind} ${field}`).sort()).toEqual([
        'link attributes.fact',
        'link attributes.why',
        'node attributes.name',
        'node attributes.tags',
        'node attributes.text',
      ])
      const edits = found.map(({ kind, id, field }) => ({ kind, id, field, text: null }))
      const { textsEdited } = await store.change(
        ...([group, [], newId('run'), () => ({ ...noChange(), editTexts: edits }), tx] as const),
      )
      expect(textsEdited).toBe(5)
      expect(await read()).toEqual([])
      expect(await store.countGroup(group, tx)).toBeGreaterThanOrEqual(3)
      while ((await store.dropGroup(group, 2, tx)) > 0);
      expect(await store.countGroup(group, tx)).toBe(0)
      const { records } = await driver.executeQuery(
        'MATCH (n) WHERE n.group_id STARTS WITH $group RETURN n.group_id AS of',
        { group },
      )
      expect(records.map((record) => record.get('of'))).toEqual([`${group}-other`])
    } finally {
      await Promise.all([store.close(), driver.close()])
      await db.close()
      await database.drop()
    }
  }, 60_000)
})
