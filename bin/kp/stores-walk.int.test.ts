import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres'
import { PostgresStore } from '@langchain/langgraph-checkpoint-postgres/store'
import { createClient } from '@redis/client'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { readEnv } from '#lib/config/env.ts'
import { runJobs } from '#lib/jobs/runner.ts'
import { openInstallation } from '#lib/platform/installation.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { storedInThread } from '#lib/testing/checkpoints.ts'
import { areStoresInstalled, storeServers, versionedBucket } from '#lib/testing/connected-stores.ts'
import { testDatabase } from '#lib/testing/database.ts'
import { episode } from '#lib/testing/graphs.ts'
import { answersOf, blocksOf, commandsOf, readersFolder, sectionOf, walked } from '#lib/testing/guide-walk.ts'
import { neo4jPlanting } from '#lib/testing/neo4j-planting.ts'
import { issuedAgent, signedIn } from '#lib/testing/people.ts'
import { s3Credentials } from '#lib/testing/services/objects.ts'

const addresses = sectionOf('connect-stores.md', '## Set the addresses')
const oneMessage = sectionOf('for-agent-developers.md', '## One message through all stores')
const imported = sectionOf('for-agent-developers.md', '## Import a history')
const hasShell = spawnSync('bash', ['--version']).status === 0 && spawnSync('curl', ['--version']).status === 0
const secret = 'a secret of thirty-two characters'
/** Replaces the password that the guide generates. */
const generated = 'a1b2c3d4'

describe.runIf(hasShell && (await areStoresInstalled()))('the guides about connected stores', () => {
  const closing: (() => unknown)[] = []
  const opened = <T>(what: T, close: (what: T) => unknown): T => {
    closing.push(() => close(what))
    return what
  }
  const { folder } = opened(readersFolder(), (reader) => reader.close())
  /** The lines of its table, with this run's servers in place of the Docker ones. */
  let lines: string[]
  let app: TestApp
  let graphUrl: string
  beforeAll(async () => {
    const servers = opened(await storeServers(), (one) => one.close())
    const database = opened(await testDatabase(), (one) => one.drop())
    graphUrl = servers.graphUrl
    const at = (url: string): string => url.slice(url.indexOf('//') + 2)
    const { key, secret: password } = s3Credentials
    const served = {
      'kp:$KP_STORES_PASSWORD@127.0.0.1:5432/kp': at(database.ownerUrl),
      'kp:$KP_STORES_PASSWORD@127.0.0.1:5432/threads': at(servers.checkpointsUrl),
      'neo4j:$KP_STORES_PASSWORD@127.0.0.1:7687': at(graphUrl),
      '127.0.0.1:6379': new URL(servers.redisUrl).host,
      'knowledgepulse:$KP_STORES_PASSWORD@127.0.0.1:9000': `${key}:${password}@${at(servers.s3Endpoint)}`,
    }
    lines = [...addresses.matchAll(/`(export [^`]+)`/g)].map(([, line = '']) =>
      Object.entries(served)
        .reduce((text, [docker, here]) => text.replace(docker, () => here), line)
        .replace('$KP_STORES_PASSWORD', generated),
    )
    const given = Object.fromEntries(
      lines.map((line) => (/^export (\w+)="?([^"]+)"?$/.exec(line) ?? []).slice(1) as [string, string]),
    )
    // Creates what Docker and the applications would create: a password, a bucket and tables.
    const redis = await createClient({ url: servers.redisUrl }).connect()
    await redis.configSet('requirepass', generated)
    redis.destroy()
    ;(await versionedBucket(servers.s3Endpoint, 'knowledgepulse')).close()
    const saver = PostgresSaver.fromConnString(servers.checkpointsUrl)
    await saver.setup()
    await saver.end()
    const memory = PostgresStore.fromConnString(servers.checkpointsUrl)
    await memory.setup()
    await memory.stop()
    const { appUrl } = await openInstallation(readEnv({ ...given, KP_SECRET: secret }))
    const { DATABASE_URL: _, ...stores } = given
    app = opened(await testApp({ ...stores, KP_SECRET: secret }, { ...database, appUrl }), (one) => one.close())
    opened(await runJobs(app.app.db, app.app.pipeline, app.app.jobs), (runner) => runner.stop())
  })
  afterAll(async () => {
    for (const close of closing.reverse()) await close()
  })

  it('doctor prints each store as in the guide, and none is down', async () => {
    const command = commandsOf(addresses).at(-1)
    expect(command).toContain('doctor')
    const script = `npm() { shift 4; "$NODE" "$KP" "$@"; }\n${lines.join('\n')}\n${command}`
    const { status, said } = await walked(app, folder, script)
    expect(status, said).toBe(0)
    const shape = (line: string) =>
      line.replace(/127\.0\.0\.1:\d+/, '127.0.0.1:…').replace(/answers in [\d.]+ ms/, 'answers in … ms')
    const found = said.split('\n').map(shape)
    const shown = answersOf(addresses).map(shape)
    expect(shown.length).toBeGreaterThan(1)
    expect(found).toEqual(expect.arrayContaining(shown))
    for (const store of ['postgresql', 'graph', 'cache', 'objects', 'checkpoints'])
      expect(
        found.filter((line) => line.startsWith(`✓ ${store}: `) && / in de \(DE\); answers in … ms$/.test(line)),
        said,
      ).toHaveLength(1)
    const ready = await app.fetch('GET', '/ready')
    expect([ready.status, ready.json.status]).toEqual([200, 'ready'])
    for (const store of ['postgresql', 'graph', 'cache', 'objects', 'checkpoints'])
      expect(ready.json.stores[store], store).toMatchObject({ state: 'ok', region: 'de' })
  })

  it('the commands send one message through all stores and import a history', async () => {
    const owner = await signedIn(app)
    const { token } = await issuedAgent(app, ['read', 'write'], { tier: 'enterprise', owner })
    const [names = '', ...asked] = commandsOf(oneMessage)[0]?.trim().split('\n') ?? []
    const filled = new Map([
      ['kp_…', token],
      ['<your thread>', 'kick-off of a deal'],
      ['<uuid of the episode>', 'episode-of-the-kick-off'],
    ])
    const ask = async (command: string) => {
      const script = `curl() { command curl --silent --show-error "$@"; }\n${names}\n${command}`
      const text = [...filled].reduce((script, [blank, value]) => script.replaceAll(blank, value), script)
      const { status, said } = await walked(app, folder, text)
      expect(status, said).toBe(0)
      for (const [id = '', kind] of said.matchAll(/\b(prj|conv|msg)_[0-9A-Za-z]{22}/g)) filled.set(`${kind}_…`, id)
      return JSON.parse(said)
    }
    for (const command of asked.slice(0, 3)) await ask(command)
    const [id = '', group = ''] = [filled.get('msg_…'), filled.get('prj_…')]
    const text = 'Ida Beispiel signs on Monday.'
    await storedInThread(app, 'kick-off of a deal', [{ id, text }])
    const planting = neo4jPlanting(graphUrl)
    const told = episode('episode-of-the-kick-off', 1, { content: text })
    const nothing = { entities: [], facts: [], mentions: [], communities: [], sagas: [], next: [] }
    await planting.plant({ group, episodes: [told], ...nothing })
    await planting.close()
    const [pointer = '', plan = '', erase = ''] = asked.slice(3)
    expect((await ask(pointer)).data).toMatchObject({ stored: 1 })
    const { verdicts } = (await ask(plan)).data
    for (const store of ['graph', 'checkpoints'])
      expect(verdicts.map((verdict: { store: string }) => verdict.store)).toContain(store)
    const { auditId } = await ask(erase)
    const erasure = async () => (await app.fetch('GET', `/api/erasures/${auditId}`, { token })).json.data
    await vi.waitUntil(async () => (await erasure()).success, { timeout: 60_000, interval: 100 })
    expect((await erasure()).deleted_from).toMatchObject({
      postgresql: true,
      redis: true,
      graphiti: { episodesDeleted: 1 },
      checkpoints: { threads: 1 },
    })

    const [history = ''] = blocksOf(imported, 'ndjson')
    writeFileSync(join(folder, 'history.ndjson'), history)
    const [, command = ''] = commandsOf(imported)[0]?.trim().split('\n') ?? []
    const each = { conversations: 1, participants: 1, messages: 1, documents: 1 }
    expect((await ask(command)).data).toMatchObject({ received: 4, stored: each, failed: 0 })
    expect((await ask(command)).data).toMatchObject({ received: 4, skipped: 4, failed: 0 })
  })
})
