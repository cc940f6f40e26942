import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { z } from 'zod'
import { nodeFlags } from '#bin/children.ts'
import { registerBenchAgent, startCluster, startWorker } from './installation.ts'
import type { BenchRow } from './row.ts'
import { growthOf, startApi } from './transfer.ts'

const max = 128
const runs = 3

/** The peak memory of a process in MiB. Undefined when it has ended. */
function peakOf(pid: number): number | undefined {
  try {
    const kibi = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
    return kibi === undefined ? undefined : Number(kibi) / 1024
  } catch {
    return undefined
  }
}

/** The real `kp` of an agent, with its own home. */
function commandLine(scope: AsyncDisposableStack, url: string, token: string) {
  const home = mkdtempSync(join(tmpdir(), 'kp-bench-'))
  scope.defer(() => rmSync(home, { recursive: true, force: true }))
  const passphrases = join(home, 'passphrase')
  writeFileSync(passphrases, 'a heron stands in the shallow water\n', { mode: 0o600 })
  const { PATH = '' } = process.env
  const own = { HOME: home, KP_URL: url, KP_TOKEN: token, KP_PASSPHRASE_FILE: passphrases }
  /** Its output, and its peak memory in MiB. */
  return async (...args: string[]): Promise<{ answer: unknown; peak: number }> => {
    const child = spawn(process.execPath, [...nodeFlags, 'bin/kp.ts', ...args, '--json'], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { PATH, NODE_ENV: 'production', ...own },
    })
    let peak = 0
    const timer = setInterval(() => {
      peak = Math.max(peak, peakOf(child.pid ?? 0) ?? 0)
    }, 5)
    try {
      const [out, [status]] = await Promise.all([text(child.stdout), once(child, 'exit')])
      if (status !== 0) throw new Error(`kp ${args.join(' ')} ended with ${status}`)
      return { answer: JSON.parse(out), peak }
    } finally {
      clearInterval(timer)
    }
  }
}
const Made = z.object({ data: z.object({ id: z.string(), state: z.literal('ready') }) })

/**
 * The complete path in an installation: a server receives the state, the worker makes the snapshot, `kp` opens it and
 * sends it back, and the server stores it. Each process is measured separately.
 */
export async function wholeWay(
  scope: AsyncDisposableStack,
  { mediaType, bytes, state }: { mediaType: string; bytes: number; state: () => Iterable<Buffer> },
): Promise<BenchRow[]> {
  const cluster = await startCluster(scope)
  const installation = await cluster.open('snapshots')
  const server = await startApi(scope, installation)
  const worker = await startWorker(scope, installation.env)
  const { id, token } = await registerBenchAgent(server.url, installation)
  const kp = commandLine(scope, server.url, token)
  await kp('grimoire', 'init')

  const upload = async (type: string, pieces: Iterable<Buffer>) => {
    // A constant, because the types of fetch lack `duplex`.
    const request = {
      method: 'PUT',
      body: Readable.toWeb(Readable.from(pieces)) as ReadableStream,
      duplex: 'half',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': type },
    }
    const response = await fetch(`${server.url}/v1/agents/${id}/state`, request)
    if (!response.ok) throw new Error(`the state was answered with ${response.status}: ${await response.text()}`)
    await response.arrayBuffer()
  }
  const make = async () => Made.parse((await kp('snapshot', 'create')).answer).data.id
  const restore = (snapshot: string) => kp('snapshot', 'restore', snapshot)

  // Idle is measured after the process has done such work once.
  await upload('application/json', [Buffer.from('{"a":1}')])
  await restore(await make())
  const { peak: idle } = await kp('snapshot', 'list')

  const taken = await growthOf(server.pid, () => upload(mediaType, state()))
  const made = await growthOf(worker.pid ?? 0, make)
  const peaks: number[] = []
  const restored = await growthOf(server.pid, async () => {
    for (let run = 0; run < runs; run++) peaks.push((await restore(made.result)).peak)
  })
  const row = (what: string, value: number): BenchRow => ({
    name: `whole way, ${bytes / 1024 / 1024} MiB: ${what}`,
    value,
    unit: 'MiB',
    bar: `at most ${max}`,
    met: value <= max,
  })
  return [
    row('memory that the server grew by, the state uploaded', taken.growth),
    row('memory that the worker grew by, the snapshot made', made.growth),
    row(`memory that the server grew by, the snapshot brought back ${runs} times`, restored.growth),
    row('memory of kp snapshot restore beyond that of kp snapshot list', Math.max(...peaks) - idle),
  ]
}
