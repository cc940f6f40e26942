import { readdirSync, readFileSync } from 'node:fs'

/** Of the kernel's clock ticks in /proc: 100 a second on every Linux. */
const TICK = 10_000

/** What a process has used until now, in microseconds, and whose child it is; undefined once it is gone. */
function usage(pid: string): { parent: number; used: number } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return { parent: Number(fields[1]), used: (Number(fields[11]) + Number(fields[12])) * TICK }
  } catch {
    return undefined
  }
}

/**
 * The processor time of a process and of its children (as PostgreSQL's connections are) until now, in microseconds. It says what a request
 * costs even where other programs keep the machine busy. Undefined on systems without /proc.
 */
export function cpuOf(pid: number): number | undefined {
  if (process.platform !== 'linux') return undefined
  const own = usage(String(pid))?.used ?? 0
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(usage)
    .reduce((sum, one) => sum + (one?.parent === pid ? one.used : 0), own)
}
