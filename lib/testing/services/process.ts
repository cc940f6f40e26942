import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

const DEADLINE = 120_000

// The server ends and its folder is removed when the pipe to its parent closes. The kernel closes it on any death,
// including SIGKILL. Then nobody reads the last lines of the server, which must not end the shell before it removes the folder.
const keeper = `folder=$1; shift; exec 3<&0
"$@" 3<&- </dev/null >"$folder/output" 2>&1 & server=$!
( cat <&3 >/dev/null; kill -9 $server ) 2>/dev/null & watch=$!
trap '' PIPE
wait $server || tail -n 20 "$folder/output" >&2; [ -n "$KEEP" ] || rm -rf "$folder"; kill $watch 2>/dev/null`

export interface ServerProcess {
  port: number
  /** Where it may write. Removed when it ends, unless it was given. */
  folder: string
  /** Kills it immediately and resolves when it has ended. Safe to repeat. */
  stop(): Promise<void>
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    const end = (isUp: boolean) => {
      resolve(isUp)
      socket.destroy()
    }
    socket.setTimeout(1000, () => end(false))
    socket.once('connect', () => end(true)).once('error', () => end(false))
  })
}

/** A new folder for a server. A given folder outlives the server, so that another can continue with its data. */
export const newFolder = (name: string): string => mkdtempSync(join(tmpdir(), `kp-${name}-`))

/**
 * Starts a server for this run on 127.0.0.1, and resolves when it accepts connections. It ends with its parent
 * process, even when that is killed.
 */
export async function startProcess(
  name: string,
  [command, ...args]: readonly [string, ...string[]],
  { port, folder, keeps, env = {} }: { port: number; folder: string; keeps: boolean; env?: Record<string, string> },
): Promise<ServerProcess> {
  const { PATH = '', HOME = '' } = process.env
  const child = spawn('/bin/sh', ['-c', keeper, 'sh', folder, command, ...args], {
    stdio: ['pipe', 'ignore', 'pipe'],
    env: { PATH, HOME, NODE_ENV: 'test', ...(keeps ? { KEEP: '1' } : {}), ...env },
    detached: true, // an interrupt at the keyboard reaches only this process, and then the pipe ends the server
  })
  const ended = once(child, 'exit')
  let output = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  const stop = async () => {
    child.stdin.destroy()
    await ended
  }
  const deadline = performance.now() + DEADLINE
  while (child.exitCode !== null || !(await accepts(port))) {
    if (child.exitCode !== null || performance.now() > deadline) {
      await stop()
      throw new Error(`${name} did not come up on port ${port}: ${output}`)
    }
    await delay(50)
  }
  return { port, folder, stop }
}
