import { type SpawnOptions, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { writeCompressedCopies } from './compressed-copies.ts'

/** A build step failed. The message is the output of the step. */
export class BuildFailure extends Error {}

type Step = {
  /** Files and folders that the result depends on, as globs. Tests are excluded. */
  sources: string[]
  /** The file with the hash of the sources, stored next to the result. */
  stamp: string
  command: string[]
  /** Runs after the command. */
  finish?: () => Promise<void>
}

const GENERATE: Step = {
  sources: ['prisma/schema/**', 'prisma.config.ts', 'package-lock.json'],
  stamp: 'generated/knowledgepulse-sources',
  command: ['node_modules/prisma/build/index.js', 'generate'],
}

const BUILD: Step = {
  sources: [
    ...['app', 'components', 'i18n', 'lib', 'messages', 'public', 'prisma/schema'].map((folder) => `${folder}/**`),
    'package.json',
    'package-lock.json',
    'tsconfig.json',
    'next.config.*',
    'postcss.config.*',
    'proxy.ts',
    'instrumentation.ts',
    'instrumentation-client.ts',
  ],
  stamp: '.next/knowledgepulse-sources',
  command: ['node_modules/next/dist/bin/next', 'build'],
  finish: writeCompressedCopies,
}

/** Exists in a container image, which is complete and read-only: nothing is built there. */
export const imageMark = 'generated/knowledgepulse-image'

/** The folder of the bundled processes, relative to the checkout. */
export const bundleFolder = 'generated/server'

const BUNDLE: Step = {
  sources: [
    ...['bin', 'i18n', 'lib', 'messages', 'prisma/schema'].map((folder) => `${folder}/**`),
    'package-lock.json',
  ],
  stamp: `${bundleFolder}/knowledgepulse-sources`,
  command: ['bin/bundle.ts'],
}

/** SHA-256 of the names and contents of all sources of a step. */
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

async function runStep({ command, stamp, finish }: Step, hash: string, options: SpawnOptions) {
  rmSync(stamp, { force: true }) // an interrupted build must not look up to date
  const child = spawn(process.execPath, command, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      said += text
    })
  }
  const status = await new Promise((done, fail) => child.once('error', fail).once('close', done))
  if (status !== 0) throw new BuildFailure(said.trim())
  await finish?.()
  mkdirSync(dirname(stamp), { recursive: true })
  writeFileSync(stamp, hash)
}

/** Builds only the database client, for commands without pages. @throws BuildFailure */
export const generateChanged = (env: NodeJS.ProcessEnv, signal: AbortSignal) =>
  make([[GENERATE]], env, signal, () => {})

/**
 * Builds the database client, the bundled processes and the pages when their sources have changed.
 * @param onWork called once before the first step that runs
 * @throws BuildFailure
 */
export const buildChanged = (env: NodeJS.ProcessEnv, signal: AbortSignal, onWork: () => void) =>
  make([[GENERATE], [BUNDLE, BUILD]], env, signal, onWork)

/** Carries out the phases one after the other, and the steps of a phase concurrently. */
async function make(
  phases: readonly (readonly Step[])[],
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
  onWork: () => void,
) {
  if (existsSync(imageMark)) return
  let isAnnounced = false
  const bringUpToDate = async (step: Step) => {
    const hash = sourcesHash(step)
    if (isDone(step, hash)) return
    if (!isAnnounced) onWork()
    isAnnounced = true
    await runStep(step, hash, { env, signal })
  }
  for (const steps of phases) await Promise.all(steps.map(bringUpToDate))
}

if (import.meta.main)
  await buildChanged({ ...process.env, NODE_ENV: 'production' }, AbortSignal.timeout(1_800_000), () =>
    console.log('Building …'),
  )
