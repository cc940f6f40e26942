import { type SpawnOptions, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/** A step of the build failed; its message is all that the step said. */
export class BuildFailure extends Error {}

type Step = {
  /** What its result depends on: files and folders, by glob; tests aside. */
  sources: string[]
  /** Holds the hash of the sources that the result was made from, and lives beside it. */
  stamp: string
  command: string[]
}

const GENERATE: Step = {
  sources: ['prisma/schema/**', 'prisma.config.ts', 'package-lock.json'],
  stamp: 'generated/knowledgepulse-sources',
  command: ['node_modules/prisma/build/index.js', 'generate'],
}

const BUILD: Step = {
  sources: [
    ...['app', 'components', 'i18n', 'lib', 'messages', 'public', 'prisma/schema'].map((folder) => `${folder}/**`),
    ...['package.json', 'package-lock.json', 'tsconfig.json', 'next.config.*', 'postcss.config.*'],
    ...['proxy.ts', 'instrumentation.ts', 'instrumentation-client.ts'],
  ],
  stamp: '.next/knowledgepulse-sources',
  command: ['node_modules/next/dist/bin/next', 'build'],
}

/** SHA-256 over the names and contents of everything a step depends on. */
function sourcesHash({ sources }: Step): string {
  const hash = createHash('sha256')
  const files = globSync(sources, { exclude: ['**/*.test.ts', '**/*.test.tsx'] }).filter((path) =>
    statSync(path).isFile(),
  )
  for (const file of files.sort())
    hash.update(`${file}\0`).update(createHash('sha256').update(readFileSync(file)).digest())
  return hash.digest('hex')
}

const isDone = ({ stamp }: Step, hash: string) => existsSync(stamp) && readFileSync(stamp, 'utf8') === hash

async function carryOut({ command, stamp }: Step, hash: string, options: SpawnOptions) {
  rmSync(stamp, { force: true }) // an interrupted build must not pass for the one before
  const child = spawn(process.execPath, command, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      said += text
    })
  }
  const status = await new Promise((done, fail) => child.once('error', fail).once('close', done))
  if (status !== 0) throw new BuildFailure(said.trim())
  mkdirSync(dirname(stamp), { recursive: true })
  writeFileSync(stamp, hash)
}

/** The database client alone: for commands that need no pages. Throws {@link BuildFailure}. */
export const generateChanged = (env: NodeJS.ProcessEnv, signal: AbortSignal) => make([GENERATE], env, signal, () => {})

/**
 * Makes what the sources lead to, where they changed since: the database client, the pages.
 * @param onWork called once if there is anything to do
 * @throws BuildFailure
 */
export const buildChanged = (env: NodeJS.ProcessEnv, signal: AbortSignal, onWork: () => void) =>
  make([GENERATE, BUILD], env, signal, onWork)

async function make(steps: readonly Step[], env: NodeJS.ProcessEnv, signal: AbortSignal, onWork: () => void) {
  let isAnnounced = false
  for (const step of steps) {
    const hash = sourcesHash(step)
    if (isDone(step, hash)) continue
    if (!isAnnounced) onWork()
    isAnnounced = true
    await carryOut(step, hash, { env, signal })
  }
}
