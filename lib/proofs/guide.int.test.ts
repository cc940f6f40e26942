// Runs every snippet of the guide as printed, with models that always give the same answer.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { type TestDatabase, testDatabase } from '#lib/testing/database.ts'
import { issuedAgent, signedIn } from '#lib/testing/people.ts'
import { isInstalled, pythonExecutable } from '#lib/testing/services/installed.ts'
import { neo4jServer } from '#lib/testing/services/shared.ts'

const root = join(import.meta.dirname, '../..')
const guide = readFileSync(join(root, 'docs/connect-by-hand.md'), 'utf8')
const snippets = (language: string): string =>
  [...guide.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, 'gms'))].map(([, code]) => code).join('\n')

const models = `
import { FakeListChatModel } from '@langchain/core/utils/testing'
export const chatModel = new FakeListChatModel({ responses: ['Ida Beispiel, I noted that you sign the contract on Monday.'] })
`

const modelsInPython = `
import os, sys
sys.path.insert(0, os.environ["FAKES"])
from graphiti_models import Embedder, Model, Ranker, known
from langchain_core.language_models import FakeListChatModel
known["Ida Beispiel"] = 0
llm_client, embedder, cross_encoder = Model(), Embedder(), Ranker()
chat_model = FakeListChatModel(responses=["Ida Beispiel, I noted that you sign the contract on Monday."])
`

let test: TestApp
let threads: TestDatabase
let token: string
let folder: string
beforeAll(async () => {
  threads = await testDatabase()
  test = await testApp({ KP_CHECKPOINTS_URL: threads.ownerUrl })
  token = (await issuedAgent(test, ['read', 'write'], { owner: await signedIn(test) })).token
  // Within the checkout, so that the program finds its packages.
  mkdirSync(join(root, 'generated'), { recursive: true })
  folder = mkdtempSync(join(root, 'generated/guide-'))
})
afterAll(async () => {
  await test?.close()
  await threads?.drop()
  rmSync(folder, { recursive: true, force: true })
})

/** Runs a program and returns the last line of its output. */
async function lastLine(command: string, file: string, env: Record<string, string>): Promise<string | undefined> {
  const { PATH = '', HOME = '' } = process.env
  const child = spawn(command, [file], {
    cwd: folder,
    env: { NODE_ENV: 'test', PATH, HOME, KP_URL: test.url, KP_TOKEN: token, CHECKPOINTS_URL: threads.ownerUrl, ...env },
  })
  const [output, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  if (code !== 0) throw new Error(`${file} ended with ${code}: ${errors}`)
  return output.trim().split('\n').at(-1)
}
const everyMessage = () => test.db.prisma.message.findMany({ select: { role: true, content: true } })

describe.skipIf(!isInstalled('python') || !isInstalled('neo4j'))('the Python of the guide', () => {
  it('connects an agent and a graph, and completes an erasure', async () => {
    const { url } = await neo4jServer()
    const connected = await testApp({ KP_CHECKPOINTS_URL: threads.ownerUrl, KP_GRAPH_URL: url })
    try {
      const agent = await issuedAgent(connected, ['read', 'write'], { owner: await signedIn(connected) })
      writeFileSync(join(folder, 'models.py'), modelsInPython)
      writeFileSync(join(folder, 'guide.py'), snippets('python'))
      const { host, username, password } = new URL(url)
      const printed = await lastLine(pythonExecutable(), 'guide.py', {
        KP_URL: connected.url,
        KP_TOKEN: agent.token,
        FAKES: join(root, 'lib/testing/python'),
        NEO4J_URI: `bolt://${host}`,
        NEO4J_USER: username,
        NEO4J_PASSWORD: decodeURIComponent(password),
        GRAPHITI_TELEMETRY_ENABLED: 'false',
        PYTHONDONTWRITEBYTECODE: '1',
      })
      expect(printed).toMatch(/^done rcpt_\w+$/)
      const { json } = await connected.fetch('GET', `/v1/receipts/${printed?.split(' ')[1]}`)
      for (const store of ['checkpoints', 'graph'])
        expect(json.stores).toContainEqual(expect.objectContaining({ store, residue: 0 }))
      expect(json.derived).toContainEqual(expect.objectContaining({ store: 'graph', cut: 1, deleted: 0 }))
    } finally {
      await connected.close()
    }
  })
})

it('the TypeScript of the guide connects an agent, and completes an erasure', async () => {
  writeFileSync(join(folder, 'models.ts'), models)
  writeFileSync(join(folder, 'guide.ts'), snippets('ts'))
  const printed = await lastLine(process.execPath, 'guide.ts', {})
  expect(printed).toMatch(/^done rcpt_\w+$/)
  const { json } = await test.fetch('GET', `/v1/receipts/${printed?.split(' ')[1]}`)
  expect(json.stores).toContainEqual(expect.objectContaining({ store: 'checkpoints', residue: 0 }))
  expect(await everyMessage()).toEqual([
    { role: 'assistant', content: 'Ida Beispiel, I noted that you sign the contract on Monday.' },
  ])
})
