// LangGraph's official suite for checkpoint savers, through the recorder of clients/typescript and without it.
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { builtTypeScript } from '#lib/testing/client-packages.ts'
import { type TestDatabase, testDatabase } from '#lib/testing/database.ts'
import { issuedAgent, signedIn } from '#lib/testing/people.ts'
import { isInstalled, langgraphTools } from '#lib/testing/services/installed.ts'

const run = promisify(execFile)
const timeout = 300_000
const Report = z.object({
  testResults: z.array(z.object({ assertionResults: z.array(z.object({ fullName: z.string(), status: z.string() })) })),
})

describe.skipIf(!isInstalled('openapi') || !isInstalled('langgraph'))('the checkpoint saver of the recorder', () => {
  let folder: string
  let client: string
  let registry: TestApp
  let threads: TestDatabase
  let token: string
  let project: string

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'kp-validation-'))
    const { app } = await builtTypeScript(folder)
    client = join(app, 'node_modules/@knowledgepulse/client/dist')
    registry = await testApp()
    const owner = await signedIn(registry, 'admin')
    token = (await issuedAgent(registry, ['read', 'write'], { tier: 'enterprise', owner })).token
    const { json } = await registry.fetch('POST', '/api/projects', { token, body: { name: 'Validation' } })
    project = json.data.id
    threads = await testDatabase()
    symlinkSync(join(langgraphTools, 'node_modules'), join(folder, 'node_modules'))
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
    writeFileSync(
      join(folder, 'saver.test.js'),
      `import { MemorySaver } from '@langchain/langgraph-checkpoint'
       import { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres'
       import { validate } from '@langchain/langgraph-checkpoint-validation'
       import { KnowledgePulse } from '${client}/index.js'
       import { Recorder } from '${client}/langgraph.js'

       const { RECORDED, THREADS, URL, TOKEN, PROJECT } = process.env
       const saver = THREADS ? PostgresSaver.fromConnString(THREADS) : undefined
       const clientOf = () => new KnowledgePulse({ url: URL, token: TOKEN })
       const recorder = RECORDED && new Recorder({ client: clientOf(), project: PROJECT, patience: 60_000 })
       const tables = ['checkpoints', 'checkpoint_blobs', 'checkpoint_writes']
       validate({
         checkpointerName: 'saver',
         beforeAll: () => saver?.setup(),
         afterAll: () => saver?.end(),
         async createCheckpointer() {
           if (saver) await saver.pool.query('TRUNCATE ' + tables.join(', '))
           const own = saver ?? new MemorySaver()
           return recorder ? recorder.checkpoints(own) : own
         },
       })`,
    )
  }, timeout)
  afterAll(async () => {
    await registry?.close()
    await threads?.drop()
    rmSync(folder, { recursive: true, force: true })
  })

  /** The status of each test of the suite, by its name. */
  async function resultsOf(settings: Record<string, string>): Promise<Map<string, string>> {
    const report = join(folder, 'report.json')
    rmSync(report, { force: true })
    const program = join(folder, 'node_modules/.bin/vitest')
    const env = { NODE_ENV: 'test' as const, PATH: process.env.PATH, HOME: folder, ...settings }
    // It ends with an error where the saver itself fails a test.
    await run(program, ['run', '--globals', '--reporter=json', `--outputFile=${report}`], { cwd: folder, env }).catch(
      () => {},
    )
    const { testResults } = Report.parse(JSON.parse(readFileSync(report, 'utf8')))
    return new Map(
      testResults.flatMap(({ assertionResults }) => assertionResults.map(({ fullName, status }) => [fullName, status])),
    )
  }

  it.each([
    ['in memory', false],
    ['in PostgreSQL', true],
  ])(
    'passes the official suite %s as the saver does without it',
    async (_, isPostgres) => {
      const stored = isPostgres ? { THREADS: threads.ownerUrl } : {}
      const plain = await resultsOf({ ...stored })
      const recorded = await resultsOf({ ...stored, RECORDED: '1', URL: registry.url, TOKEN: token, PROJECT: project })
      expect(recorded).toEqual(plain)
      expect([...plain.values()].filter((status) => status === 'passed').length).toBeGreaterThan(70)
      const { json } = await registry.fetch('GET', `/api/projects/${project}/conversations`, { token })
      expect(json.data.length).toBeGreaterThan(0)
    },
    timeout,
  )
})
