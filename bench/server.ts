import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { nodeFlags } from '#bin/children.ts'
import { buildChanged, bundleFolder } from '../bin/build.ts'
import type { LoadTarget } from './load.ts'

const PATIENCE = 60_000

export interface Server {
  url: string
  pid: number
}
export interface ServerOptions {
  /** Arguments for Node. `port` is a free one. */
  command(port: number): string[]
  /** Its environment, in addition to PATH and HOME. The user's own settings would distort the measurement. */
  env: Record<string, string>
  /** A free one by default. */
  port?: number
  /** Answers with 2xx when the server is ready. */
  readyPath: string
}

export async function freeBenchPort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const address = probe.address()
  await new Promise((closed) => probe.close(closed))
  if (address === null || typeof address === 'string') throw new Error('no port is free')
  return address.port
}

/** Resolves when `url` answers 2xx. @throws after a minute, or when `hasEnded` returns true */
export async function answers(url: string, hasEnded: () => boolean, patience = PATIENCE): Promise<void> {
  const giveUp = performance.now() + patience
  for (;;) {
    const isUp = await fetch(url).then(
      (response) => response.ok,
      () => false,
    )
    if (isUp) return
    if (hasEnded() || performance.now() > giveUp) throw new Error(`${url} did not come to answer`)
    await delay(20)
  }
}

/** A production server in its own process on 127.0.0.1. Stopped with the scope. */
export async function startServer(scope: AsyncDisposableStack, options: ServerOptions): Promise<Server> {
  const port = options.port ?? (await freeBenchPort())
  const { PATH = '', HOME = '' } = process.env
  const child = spawn(process.execPath, options.command(port), {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { PATH, HOME, ...options.env, ...production, HOST: '127.0.0.1', PORT: String(port) },
  })
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null
  const exited = once(child, 'exit')
  scope.defer(async () => {
    if (hasEnded()) return
    child.kill('SIGTERM')
    const insist = setTimeout(() => child.kill('SIGKILL'), 15_000)
    await exited
    clearTimeout(insist)
  })
  const url = `http://127.0.0.1:${port}`
  await answers(url + options.readyPath, hasEnded)
  return { url, pid: child.pid ?? 0 }
}

/** The production server: the API server in the process that also runs Next. */
export const startApiServer = (scope: AsyncDisposableStack, env: Record<string, string>): Promise<Server> =>
  startServer(scope, { command: () => [...nodeFlags, `${bundleFolder}/server.mjs`], env, readyPath: '/ready' })

const next = 'node_modules/next/dist/bin/next'

/** Plain Next, as some hosts run it: the same operations through their route.ts files. */
export const startNext = (scope: AsyncDisposableStack, env: Record<string, string>): Promise<Server> =>
  startServer(scope, { command: (port) => serve('.', port), env, readyPath: '/ready' })

/** The cost of Next for an empty route. */
export async function startCeiling(scope: AsyncDisposableStack): Promise<{ server: Server; target: LoadTarget }> {
  const command = (port: number) => serve(ceiling, port)
  const server = await startServer(scope, { command, env: {}, readyPath: '/empty' })
  return { server, target: { url: `${server.url}/empty`, method: 'GET', status: 204 } }
}
const serve = (folder: string, port: number) => [
  next,
  'start',
  folder,
  '--hostname',
  '127.0.0.1',
  '--port',
  String(port),
]

const production = { NODE_ENV: 'production', NEXT_TELEMETRY_DISABLED: '1' } as const

/** Builds the pages and the generated client when their sources have changed. */
export const buildPages = (): Promise<void> =>
  buildChanged({ ...process.env, ...production }, new AbortController().signal, () =>
    console.log('Building the pages …'),
  )

/** A copy of this application with one additional empty route, in a folder that git ignores. */
const ceiling = 'bench/results/ceiling'
const parts = [
  'app',
  'components',
  'generated',
  'i18n',
  'instrumentation.ts',
  'lib',
  'messages',
  'next.config.mjs',
  'package.json',
  'postcss.config.mjs',
  'proxy.ts',
  'tsconfig.json',
]

export async function buildCeiling(): Promise<void> {
  rmSync(ceiling, { recursive: true, force: true })
  for (const part of parts) cpSync(part, join(ceiling, part), { recursive: true })
  mkdirSync(join(ceiling, 'app/empty'))
  writeFileSync(
    join(ceiling, 'app/empty/route.ts'),
    "export const dynamic = 'force-dynamic'\nexport const GET = () => new Response(null, { status: 204 })\n",
  )
  const child = spawn(process.execPath, [resolve(next), 'build'], {
    stdio: ['ignore', 'ignore', 'inherit'],
    cwd: ceiling,
    env: { ...process.env, ...production },
  })
  const [status] = await once(child, 'exit')
  if (status !== 0) throw new Error('the empty route could not be built; what Next said stands above')
}
