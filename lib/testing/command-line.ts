import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, Writable } from 'node:stream'
import type { Invocation } from '#bin/kp/invocation.ts'

const program = join(import.meta.dirname, '../../bin/kp.ts')

export interface Ran {
  status: number | null
  out: string
  err: string
  /** The response to a call with --json. Undefined without a response. */
  json: ReturnType<typeof JSON.parse>
}
interface RunOptions {
  env?: Record<string, string>
  /** Standard input. Never a terminal. */
  input?: string | Uint8Array
}

/** A stream that collects its input. */
function collector(): { stream: Writable; text: () => string } {
  const pieces: Buffer[] = []
  const stream = new Writable({
    write(piece: Buffer, _encoding, done) {
      pieces.push(piece)
      done()
    },
  })
  return { stream, text: () => Buffer.concat(pieces).toString('utf8') }
}

/** An in-memory invocation and its result so far. Standard input is not a terminal. */
export function memoryInvocation({
  args = [],
  env = {},
  input = '',
  home = '/nonexistent',
  workingDirectory,
}: {
  args?: readonly string[]
  env?: Record<string, string | undefined>
  input?: string | Uint8Array
  home?: string
  workingDirectory?: string
}) {
  const [out, err] = [collector(), collector()]
  const stdin = new PassThrough()
  stdin.end(input)
  let status = 0
  let cleanUps = 0
  const invocation: Invocation = {
    args,
    env,
    stdin,
    stdout: out.stream,
    stderr: err.stream,
    homeDirectory: home,
    workingDirectory,
    setExitCode: (code) => {
      status = code
    },
    onTermination: () => {
      cleanUps++
      return () => {
        cleanUps--
      }
    },
  }
  return { invocation, result: () => ({ status, out: out.text(), err: err.text(), cleanUps }) }
}

function resultOf(args: readonly string[], status: number | null, out: string, err: string): Ran {
  if (/^\s+at .+:\d+:\d+/m.test(`${out}${err}`)) throw new Error(`kp printed a stack trace: ${out}${err}`)
  return { status, out, err, json: args.includes('--json') && out !== '' ? JSON.parse(out) : undefined }
}

/**
 * The command line `kp` with its own home and working directory, and without other variables of this environment.
 * `run` calls it in this process, `runProcess` and `start` start a process. `afterAll(line.close)`.
 */
export function commandLine(url: string) {
  const workplace = mkdtempSync(join(tmpdir(), 'kp-line-'))
  let home = mkdtempSync(join(workplace, 'home-'))
  const environment = (env: Record<string, string>) => ({
    NODE_ENV: 'production' as const,
    PATH: process.env.PATH,
    HOME: home,
    XDG_CONFIG_HOME: home,
    KP_URL: url,
    // As in testApp, whose environment has no HOME.
    ...(env.KP_DATA_DIR !== undefined && { KP_LEDGER_URL: join(env.KP_DATA_DIR, 'erasures') }),
    ...env,
  })
  const start = (args: readonly string[], env: Record<string, string> = {}): ChildProcess => {
    const { NODE_COMPILE_CACHE } = process.env
    // The compile cache only makes the process start faster.
    const cache = NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE }
    return spawn(process.execPath, [program, ...args], { cwd: workplace, env: { ...cache, ...environment(env) } })
  }
  async function run(args: readonly string[], { env = {}, input = '' }: RunOptions = {}): Promise<Ran> {
    const own = environment(env)
    const { invocation, result } = memoryInvocation({
      args,
      env: own,
      input,
      home: own.HOME,
      workingDirectory: workplace,
    })
    // Loaded on first use, because browser tests start processes and need no source of kp.
    const { main } = await import('#bin/kp/main.ts')
    await main(invocation)
    const { status, out, err, cleanUps } = result()
    if (cleanUps > 0) throw new Error('kp ended and is still subscribed to signals')
    return resultOf(args, status, out, err)
  }
  return {
    workplace,
    /** Runs kp in this process. */
    run,
    /** Runs kp in its own process. */
    async runProcess(args: readonly string[], { env = {}, input = '' }: RunOptions = {}): Promise<Ran> {
      const child = start(args, env)
      let [out, err] = ['', '']
      child.stdout?.setEncoding('utf8').on('data', (text: string) => {
        out += text
      })
      child.stderr?.setEncoding('utf8').on('data', (text: string) => {
        err += text
      })
      child.stdin?.on('error', () => {}).end(input)
      const status = await new Promise<number | null>((resolve, reject) =>
        child.once('error', reject).once('close', resolve),
      )
      return resultOf(args, status, out, err)
    },
    /** Starts a process of kp without waiting for it. */
    start,
    /** The configuration folder. */
    configuration: () => join(home, 'knowledgepulse'),
    /** Ends all sign-ins: later runs have an empty home. */
    newHome(): void {
      home = mkdtempSync(join(workplace, 'home-'))
    },
    async signIn(token: string): Promise<void> {
      const { status, err } = await run(['login', '--token-stdin'], { input: token })
      if (status !== 0) throw new Error(`kp login ended with ${status}: ${err}`)
    },
    close: (): void => rmSync(workplace, { recursive: true, force: true }),
  }
}
