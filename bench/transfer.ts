import { createWriteStream, readFileSync } from 'node:fs'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { finished } from 'node:stream/promises'
import { nodeFlags } from '#bin/children.ts'
import { benchCorpus } from './corpus.ts'
import type { BenchInstallation } from './installation.ts'
import { type Server, startServer } from './server.ts'

export const UNITS = 100_000

export const startApi = (scope: AsyncDisposableStack, { env }: BenchInstallation): Promise<Server> =>
  startServer(scope, { command: () => [...nodeFlags, 'bench/api.ts'], env, readyPath: '/ready' })

/** A folder that PostgreSQL can write to. Removed with the scope. */
export async function openFolder(scope: AsyncDisposableStack): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'kp-transfer-'))
  await chmod(folder, 0o777) // the cluster may run under its own account
  scope.defer(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** Writes an export of another registry: units of the corpus, by one author. */
export async function writeDocument(file: string, count: number): Promise<void> {
  const out = createWriteStream(file)
  const write = async (text: string) => {
    if (!out.write(text)) await new Promise<void>((drained) => out.once('drain', drained))
  }
  await write('{"agent_id":"their-agent","schema_version":"v1","knowledge_units":[')
  let separator = '\n'
  for (const { id, document, quality, createdAt } of benchCorpus(count)) {
    const unit = { ...document, metadata: { ...document.metadata, agent_id: 'their-agent' } }
    const { visibility } = document.metadata
    const [created_at, updated_at] = [createdAt.toISOString(), createdAt.toISOString()]
    await write(separator + JSON.stringify({ id, unit, visibility, quality_score: quality, created_at, updated_at }))
    separator = ',\n'
  }
  await write(`],"total_units":${count}}\n`)
  out.end()
  await finished(out)
}

const residentOf = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? Number.NaN) / 1024

/** The memory growth of a process during the work, in MiB, sampled 50 times a second. */
export async function growthOf<T>(pid: number, work: () => Promise<T>): Promise<{ result: T; growth: number }> {
  const before = residentOf(pid)
  let max = before
  const timer = setInterval(() => {
    max = Math.max(max, residentOf(pid))
  }, 20)
  try {
    return { result: await work(), growth: Math.max(max, residentOf(pid)) - before }
  } finally {
    clearInterval(timer)
  }
}

export const secondsOf = async (work: () => Promise<unknown>): Promise<number> => {
  const started = performance.now()
  await work()
  return (performance.now() - started) / 1000
}
