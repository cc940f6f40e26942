import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { commandLine } from '#lib/testing/command-line.ts'

// Nothing listens at this address: a scan sends no request.
const kp = commandLine('http://127.0.0.1:9')
afterAll(() => kp.close())
const phrase = 'legal winner thank year wave sausage worth useful legal winner thank yellow'

test('pii scan prints kind, line, column and action, and never the found text', async () => {
  const file = join(kp.workplace, 'notes.md')
  writeFileSync(file, `# Notes\n\nAsk a@b.example, then pay.\n构建 ${phrase}\n`)
  const ran = await kp.run(['pii', 'scan', file])
  expect(ran.status).toBe(1)
  expect(ran.out).toMatch(/^email +3:5 +redact\nseed_phrase +4:4 +block\n$/)
  expect(ran.out + ran.err).not.toMatch(/a@b|winner/)
  const asJson = await kp.run(['pii', 'scan', file, '--json'])
  expect(asJson.json.data.findings).toMatchObject([
    { kind: 'email', line: 3, column: 5, start: 13, action: 'redact' },
    { kind: 'seed_phrase', line: 4, column: 4, action: 'block' },
  ])
})

test('pii scan --redact redacts standard input across chunk borders, and exits with 0 when nothing is blocked', async () => {
  const filler = 'An ordinary line of text without anything in it.\n'.repeat(20_000)
  const ran = await kp.run(['pii', 'scan', '--redact', '-'], {
    input: `one@x.example\n${filler}two@x.example, one@x.example\n${filler}`,
  })
  expect(ran.status).toBe(0)
  expect(ran.out === `‹email:1›\n${filler}‹email:2›, ‹email:1›\n${filler}`).toBe(true)
})

test('pii scan exits with 1 and names the error when the file does not exist', async () => {
  const ran = await kp.run(['pii', 'scan', 'nowhere.md'])
  expect(ran.status).toBe(1)
  expect(ran.err).toContain('ENOENT')
})
