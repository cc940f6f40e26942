import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { errorCode } from '#lib/kernel/error-code.ts'

function commandLine(pid: number): string {
  try {
    return process.platform === 'linux'
      ? readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
      : execFileSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { encoding: 'utf8' })
  } catch {
    return '' // no such process, or it ended in the meantime
  }
}

/** Checks the command line: after a reboot or in a new container, another process may have the pid, and a zombie has no command line. */
const isServerOf = (pid: number, data: string) => `${commandLine(pid).trim()} `.includes(` -D ${data} `)

/** Stops a server whose supervisor was killed and removes its leftover files. Requires the owner lock. @returns whether one was running */
export async function stopOrphan(data: string, socketFolder: string): Promise<boolean> {
  const pidFile = join(data, 'postmaster.pid')
  if (!existsSync(pidFile)) return false
  const pid = Number(readFileSync(pidFile, 'utf8').split('\n')[0])
  const isOrphan = pid > 0 && isServerOf(pid, data)
  if (isOrphan) {
    const signal = (name: NodeJS.Signals) => {
      try {
        process.kill(pid, name)
      } catch (error) {
        if (errorCode(error) !== 'ESRCH') throw error
      }
    }
    signal('SIGINT')
    const patience = performance.now() + 10_000
    for (let isAsked = true; isServerOf(pid, data); await delay(15)) {
      if (isAsked && performance.now() > patience) {
        isAsked = false
        signal('SIGQUIT')
      }
    }
  }
  for (const file of [pidFile, join(socketFolder, '.s.PGSQL.5432'), join(socketFolder, '.s.PGSQL.5432.lock')]) {
    rmSync(file, { force: true })
  }
  return isOrphan
}
