import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type Child, restartAllowance, startChild } from './children.ts'

let folder: string
const children: Child[] = []
const givenUp: string[] = []

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kp-children-'))
  givenUp.length = 0
})

afterEach(() => {
  for (const child of children.splice(0)) child.kill()
  rmSync(folder, { recursive: true, force: true })
})

const note = () => join(folder, 'note')
const noted = () => {
  try {
    return readFileSync(note(), 'utf8').trim().split('\n')
  } catch {
    return [] // nothing yet
  }
}
const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** A supervised process that writes its pid, and a line when it finishes in order. */
const PROGRAM = `
import { appendFileSync } from 'node:fs'
import { supervised } from ${JSON.stringify(resolve('bin/supervised.ts'))}
setInterval(() => {}, 1000)
const note = (text) => appendFileSync(process.env.NOTE, text + '\\n')
note(process.pid)
supervised(async () => note('finished'))`

const start = (program: string) => {
  const file = join(folder, 'child.mjs')
  writeFileSync(file, program)
  const env = { ...process.env, NOTE: note() }
  const child = startChild({ name: 'child', file, env, onGivenUp: (message) => givenUp.push(message) })
  children.push(child)
  return child
}

test('startChild restarts a child that was killed', async () => {
  await start(PROGRAM).ready
  process.kill(Number(noted()[0]), 'SIGKILL')
  await vi.waitUntil(() => noted().length === 2, 120_000)
  expect(noted()[1]).not.toBe(noted()[0])
  expect(givenUp).toEqual([])
})

test('stop waits until the child has finished its work, and does not restart it', async () => {
  const child = start(PROGRAM)
  await child.ready
  await child.stop()
  expect(noted()).toEqual([expect.stringMatching(/^\d+$/), 'finished'])
})

test('a supervised child ignores Ctrl-C in the foreground group', async () => {
  const child = start(PROGRAM)
  await child.ready
  process.kill(Number(noted()[0]), 'SIGINT')
  await child.stop()
  expect(noted()).toEqual([expect.stringMatching(/^\d+$/), 'finished'])
})

test('startChild rejects when a child ends before it is ready', async () => {
  await expect(start('process.exit(3)').ready).rejects.toThrow('The child did not start (status 3)')
})

test('children finish in order when their supervisor is killed', async () => {
  const file = join(folder, 'child.mjs')
  writeFileSync(file, PROGRAM)
  const supervisor = spawn(
    process.execPath,
    [
      '--input-type=module',
      '-e',
      `import { startChild } from ${JSON.stringify(resolve('bin/children.ts'))}
       const child = startChild({ name: 'child', file: ${JSON.stringify(file)}, env: process.env, onGivenUp() {} })
       await child.ready
       console.log('ready')`,
    ],
    { env: { ...process.env, NOTE: note() }, stdio: ['ignore', 'pipe', 'inherit'] },
  )
  await once(supervisor.stdout, 'data')
  const pid = Number(noted()[0])
  supervisor.kill('SIGKILL')
  await vi.waitUntil(() => !isAlive(pid), 120_000)
  expect(noted().at(-1)).toBe('finished')
})

test('restartAllowance allows five restarts a minute with growing pauses', () => {
  let now = 0
  const allowance = restartAllowance(() => now)
  expect(Array.from({ length: 6 }, allowance)).toEqual([200, 400, 800, 1600, 3200, undefined])
  now = 60_000
  expect(allowance()).toBe(200)
})
