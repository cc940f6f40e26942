import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const program = join(import.meta.dirname, '../../bin/kp.ts')

export interface Ran {
  status: number | null
  out: string
  err: string
  /** The answer, where --json asked for it. */
  json: ReturnType<typeof JSON.parse>
}

/**
 * The real `kp`, each call a process with a home of its own and nothing else of this environment; standard input is no terminal.
 * `afterAll(line.close)`.
 */
export function commandLine(url: string) {
  const workplace = mkdtempSync(join(tmpdir(), 'kp-line-'))
  let home = mkdtempSync(join(workplace, 'home-'))
  const { PATH, NODE_COMPILE_CACHE } = process.env
  // Faster, and nothing else.
  const cache = NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE }
  const start = (args: readonly string[], env: Record<string, string> = {}): ChildProcess =>
    spawn(process.execPath, [program, ...args], {
      cwd: workplace,
      env: { NODE_ENV: 'production', PATH, ...cache, HOME: home, XDG_CONFIG_HOME: home, KP_URL: url, ...env },
    })
  const run = (
    args: readonly string[],
    { env = {}, input = '' }: { env?: Record<string, string>; input?: string | Uint8Array } = {},
  ): Promise<Ran> =>
    new Promise((done, fail) => {
      const child = start(args, env)
      let out = ''
      let err = ''
      child.stdout?.setEncoding('utf8').on('data', (text: string) => {
        out += text
      })
      child.stderr?.setEncoding('utf8').on('data', (text: string) => {
        err += text
      })
      child.once('error', fail)
      child.once('close', (status) => {
        if (/^\s+at .+:\d+:\d+/m.test(`${out}${err}`)) fail(new Error(`kp told a stack: ${err}`))
        done({ status, out, err, json: args.includes('--json') && out !== '' ? JSON.parse(out) : undefined })
      })
      child.stdin?.on('error', () => {}).end(input)
    })
  return {
    workplace,
    run,
    /** Starts it and lets it run. */
    start,
    /** The folder that its configuration is in. */
    configuration: () => join(home, 'knowledgepulse'),
    /** From here on nobody is signed in. */
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
