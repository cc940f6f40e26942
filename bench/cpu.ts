import { readdirSync, readFileSync } from 'node:fs'

/** Microseconds per clock tick in /proc: every Linux has 100 ticks a second. */
const TICK = 10_000

/** The processor time of a process in microseconds, and its parent. Undefined when it has ended. */
function usage(pid: string): { parent: number; used: number } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return { parent: Number(fields[1]), used: (Number(fields[11]) + Number(fields[12])) * TICK }
  } catch {
    return undefined
  }
}

const processes = (): string[] => readdirSync('/proc').filter((name) => /^\d+$/.test(name))

/** The processes that a process started and that still run. */
export const childrenOf = (pid: number): number[] =>
  processes()
    .filter((name) => usage(name)?.parent === pid)
    .map(Number)

/**
 * The processor time of a process and its children (such as PostgreSQL's connections), in microseconds. Measures the
 * cost of a request even on a busy machine. Undefined on systems without /proc.
 */
export function cpuOf(pid: number): number | undefined {
  if (process.platform !== 'linux') return undefined
  const own = usage(String(pid))?.used ?? 0
  return processes()
    .map(usage)
    .reduce((sum, one) => sum + (one?.parent === pid ? one.used : 0), own)
}

/** The largest resident memory that a process has had, in MiB. 0 when it has ended. */
export function peakMemoryOf(pid: number): number {
  try {
    return Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024
  } catch {
    return 0
  }
}
