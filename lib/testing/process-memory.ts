import { readFileSync } from 'node:fs'
import { errorCode } from '#lib/kernel/error-code.ts'

const MIB = 1024

const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number)

export interface ProcessMemory {
  pid: number
  /** The script of a Node process, or the program. */
  name: string
  /** Resident memory in MiB, with pages that other processes share. */
  rss: number
  /** Proportional memory in MiB: a page that n processes share counts 1/n. */
  pss: number
}

function memoryOf(pid: number): ProcessMemory {
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')
  const size = (field: string) => Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(rollup)?.[1]) / MIB
  const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
  return {
    pid,
    name: /(?:bin\/\w+\.ts|generated\/server\/[\w-]+\.mjs)/.exec(command)?.[0] ?? command,
    rss: size('Rss'),
    pss: size('Pss'),
  }
}

/** The memory of a process and of its descendants, from /proc (Linux). Processes that end meanwhile are left out. */
export function memoryOfTree(pid: number): ProcessMemory[] {
  try {
    return [memoryOf(pid), ...childrenOf(pid).flatMap(memoryOfTree)]
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes(errorCode(error) ?? '')) return []
    throw error
  }
}

/** RSS of the Node processes and PSS of PostgreSQL, whose processes share their buffers, in MiB. */
export const memoryAtRest = (processes: readonly ProcessMemory[]): number =>
  processes.reduce((sum, { name, rss, pss }) => sum + (name.includes('postgres') ? pss : rss), 0)
