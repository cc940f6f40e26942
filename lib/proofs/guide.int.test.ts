// Runs every snippet of the guide as it is printed there, with models that answer always the same.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { type TestDatabase, testDatabase } from '#lib/testing/database.ts'
import { issuedAgent, signedIn } from '#lib/testing/people.ts'

const root = join(import.meta.dirname, '../..')
const guide = readFileSync(join(root, 'docs/connect-your-agent.md'), 'utf8')
const snippets = (language: string): string =>
  [...guide.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, 'gms'))].map(([, code]) => code).join('\n')

const models = `
import { FakeListChatModel } from '@langchain/core/utils/testing'
export const chatModel = new FakeListChatModel({ responses: ['Ida Beispiel, I noted that you sign the contract on Monday.'] })
`

let test: TestApp
let threads: TestDatabase
let token: string
let folder: string
beforeAll(async () => {
  threads = await testDatabase()
  test = await testApp({ KP_CHECKPOINTS_URL: threads.ownerUrl })
  token = (await issuedAgent(test, ['read', 'write'], { owner: await signedIn(test) })).token
  // Below the checkout, so that the program finds its packages.
  mkdirSync(join(root, 'generated'), { recursive: true })
  folder = mkdtempSync(join(root, 'generated/guide-'))
})
afterAll(async () => {
  await test?.close()
  await threads?.drop()
  rmSync(folder, { recursive: true, force: true })
})

/** Runs a program, and returns the last line of its output. */
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

it('its TypeScript connects an agent, and its erasure is done', async () => {
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
