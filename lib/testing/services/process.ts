import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

const DEADLINE = 120_000

// The server ends, and its folder goes, when the pipe to whoever started it closes: the kernel closes it on any death, SIGKILL too.
const keeper = `folder=$1; shift; exec 3<&0
"$@" 3<&- </dev/null >"$folder/output" 2>&1 & server=$!
( cat <&3 >/dev/null; kill -9 $server 2>/dev/null ) & watch=$!
wait $server; [ -n "$KEEP" ] || rm -rf "$folder"; kill $watch 2>/dev/null`

export interface ServerProcess {
  port: number
  /** Where it may write; removed when it ends, unless it was given. */
  folder: string
  /** Kills it outright; resolves when it is gone. Safe to repeat. */
  stop(): Promise<void>
}

function accepts(port: number): Promise<boolean> {
  return new Promise((tell) => {
    const socket = connect(port, '127.0.0.1')
    const end = (isUp: boolean) => {
      tell(isUp)
      socket.destroy()
    }
    socket.setTimeout(1000, () => end(false))
    socket.once('connect', () => end(true)).once('error', () => end(false))
  })
}

/** Where a server may write. A folder that is given outlives the server, so that another can go on with its data. */
export const newFolder = (name: string): string => mkdtempSync(join(tmpdir(), `kp-${name}-`))

/** A server of this run alone on 127.0.0.1, ready when it accepts connections. It ends with the process that started it, however that ends. */
export async function startProcess(
  name: string,
  [command, ...args]: readonly [string, ...string[]],
  { port, folder, keeps, env = {} }: { port: number; folder: string; keeps: boolean; env?: Record<string, string> },
): Promise<ServerProcess> {
  const { PATH = '', HOME = '' } = process.env
  const child = spawn('/bin/sh', ['-c', keeper, 'sh', folder, command, ...args], {
    stdio: ['pipe', 'ignore', 'ignore'],
    env: { PATH, HOME, NODE_ENV: 'test', ...(keeps ? { KEEP: '1' } : {}), ...env },
    detached: true, // an interrupt at the keyboard reaches us, and the pipe ends the server after us
  })
  const ended = once(child, 'exit')
  const stop = async () => {
    child.stdin.destroy()
    await ended
  }
  const deadline = performance.now() + DEADLINE
  while (child.exitCode !== null || !(await accepts(port))) {
    if (child.exitCode !== null || performance.now() > deadline) {
      await stop()
      throw new Error(`${name} did not come up on port ${port}`)
    }
    await delay(50)
  }
  return { port, folder, stop }
}
