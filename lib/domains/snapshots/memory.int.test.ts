import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { nodeFlags } from '#bin/children.ts'
import { fileObjects } from '#lib/stores/objects/files.ts'

const mebi = 1024 * 1024
const max = 128
const folder = mkdtempSync(join(tmpdir(), 'kp-snapshot-memory-'))
let child: ChildProcess | undefined
afterAll(() => {
  child?.kill()
  rmSync(folder, { recursive: true, force: true })
})

/** A state of slightly more than `size` bytes: words, numbers, lookalikes of keys, and fields that are removed. */
async function* stateOf(size: number) {
  const record = (number: number) =>
    `${JSON.stringify({ step: number, seen: [number / 7, number], note: 'Spreads widen before the fixing; wait for the second print.', transaction: `0x${number.toString(16).padStart(64, 'a')}`, wallet: { private_key: 'taken out', address: null } })},`
  yield Buffer.from('[')
  for (let bytes = 0, number = 0; bytes < size; ) {
    let text = ''
    while (text.length < 65_536) text += record(number++)
    bytes += text.length
    yield Buffer.from(text)
  }
  yield Buffer.from('0]')
}

const residentOf = (pid: number | undefined): number =>
  Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024

test(`making and opening a snapshot of 50 MiB takes at most ${max} MiB above idle in a worker process`, async () => {
  const objects = fileObjects(folder)
  const put = (size: number) => objects.put('state', stateOf(size), { mediaType: 'application/json' })
  const running = fork('bench/snapshot-process.ts', [folder], { execArgv: [...nodeFlags] })
  child = running
  await once(running, 'message')
  const tell = async (task: string) => {
    running.send({ task, mediaType: 'application/json' })
    const [reported] = await Promise.race([once(running, 'message'), once(running, 'exit')])
    expect(reported, task).toBe('done')
  }
  // Idle is measured after the process has done such work once.
  await put(0)
  for (const task of ['make', 'open']) await tell(task)
  const idle = residentOf(running.pid)
  let highest = idle
  const timer = setInterval(() => {
    highest = Math.max(highest, residentOf(running.pid))
  }, 20)
  try {
    await put(50 * mebi)
    for (const task of ['make', 'open']) await tell(task)
  } finally {
    clearInterval(timer)
  }
  const [versions, retained] = [await objects.versions('snapshot'), await objects.versions('content')]
  // Sealing and base64 add more bytes than the removed fields saved.
  for (const [one] of [versions, retained]) expect(one?.bytes).toBeGreaterThan(50 * mebi)
  await objects.close()
  expect(highest).toBeGreaterThan(idle)
  expect(highest - idle).toBeLessThanOrEqual(max)
}, 400_000)
