import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import neo4j from 'neo4j-driver'
import { freeTestPort } from '../ports.ts'
import { files } from './installed.ts'
import { newFolder, startProcess } from './process.ts'

const PASSWORD = 'only for one test run'

export interface TestNeo4j {
  /** For KP_GRAPH_URL. */
  url: string
  port: number
  password: string
  folder: string
  /** Kills it immediately. Safe to repeat. */
  stop(): Promise<void>
}

/** Neo4j requires a change of the initial password. A folder of an earlier run has the changed one. */
async function takePassword(port: number): Promise<void> {
  const change = async (from: string) => {
    const driver = neo4j.driver(`bolt://127.0.0.1:${port}`, neo4j.auth.basic('neo4j', from))
    try {
      if (from === PASSWORD) await driver.executeQuery('RETURN 1')
      else
        await driver.executeQuery(
          'ALTER CURRENT USER SET PASSWORD FROM $from TO $to',
          { from, to: PASSWORD },
          { database: 'system' },
        )
    } finally {
      await driver.close()
    }
  }
  const deadline = performance.now() + 120_000
  for (let isNew = true; ; isNew = !isNew) {
    try {
      return await change(isNew ? 'neo4j' : PASSWORD)
    } catch (error) {
      // The server rejects connections until its databases are open.
      if (performance.now() > deadline) throw error
      await delay(100)
    }
  }
}

/**
 * Starts a real Neo4j for this run with a small heap, empty or with the data of an earlier run's folder. For
 * measurements: `heap` and `cache` in MB; `isForLong` compiles as for a permanent server.
 */
export async function startNeo4j({
  port: wanted,
  folder: given,
  heap = 512,
  cache = 64,
  isForLong = false,
}: {
  port?: number
  folder?: string
  heap?: number
  cache?: number
  isForLong?: boolean
} = {}): Promise<TestNeo4j> {
  const port = wanted ?? (await freeTestPort())
  const folder = given ?? newFolder('neo4j')
  const conf = join(folder, 'conf')
  mkdirSync(conf, { recursive: true })
  writeFileSync(
    join(conf, 'neo4j.conf'),
    `server.bolt.listen_address=127.0.0.1:${port}
server.bolt.advertised_address=127.0.0.1:${port}
server.http.enabled=false
server.https.enabled=false
server.memory.pagecache.size=${cache}m
dbms.usage_report.enabled=false
dbms.security.auth_max_failed_attempts=0
db.tx_log.preallocate=false
db.logs.query.enabled=OFF
`,
  )
  const server = await startProcess(
    'Neo4j',
    [
      'java',
      '-Xms128m',
      `-Xmx${heap}m`,
      '-XX:+UseSerialGC',
      // Tests are too short for the optimizing compiler to pay off.
      ...(isForLong ? [] : ['-XX:TieredStopAtLevel=1']),
      '--add-opens=java.base/java.nio=ALL-UNNAMED',
      '--add-opens=java.base/java.io=ALL-UNNAMED',
      '--add-opens=java.base/sun.nio.ch=ALL-UNNAMED',
      '-cp',
      `${files.neo4j}/*`,
      'org.neo4j.server.CommunityEntryPoint',
      `--home-dir=${folder}`,
      `--config-dir=${conf}`,
    ],
    { port, folder, keeps: given !== undefined },
  )
  try {
    await takePassword(port)
  } catch (error) {
    await server.stop()
    throw error
  }
  return {
    url: `bolt://neo4j:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}`,
    port,
    password: PASSWORD,
    folder,
    stop: server.stop,
  }
}
