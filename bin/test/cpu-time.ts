import { readdirSync, readFileSync } from 'node:fs'
import { availableParallelism, cpus } from 'node:os'

/** Linux reports CPU time in hundredths of a second (USER_HZ in proc(5)). */
const TICKS_PER_SECOND = 100
const INTERVAL = 200

/** The parts of a test run. A process belongs to the first part whose pattern matches its command line. */
const parts: readonly [name: string, command: RegExp][] = [
  ['PostgreSQL', /^(\S*\/)?postgres[: ]/],
  ['Neo4j', /org\.neo4j|neo4j\/lib/],
  ['Redis, S3 and GCS servers', /redis-server|versitygw|fake-gcs-server/],
  ['browser', /chrom(e|ium)/],
  ['kp processes', /bin\/kp\.(ts|mjs)/],
  ['workers that are killed', /lib\/testing\/[\w/-]+\.ts|killed-worker/],
  ['start, server and worker processes', /bin\/(start|server|worker|demo)\.ts/],
  ['browser tests', /@playwright|playwright\/|e2e\/start\.ts/],
  ['next build', /^next-build|next\/dist\/bin\/next build|next\/dist\/(build|compiled|server\/lib)/],
  [
    'checks',
    /biome|typescript\/|tsc|dependency-cruiser|knip|next\/dist\/bin\/next typegen|bin\/(generate|migrate|openapi)\.ts|prisma/,
  ],
  ['Vitest workers', /vitest\/dist\/workers/],
  ['Vitest', /vitest/],
]

export const processGroupOf = (command: string): string =>
  parts.find(([, pattern]) => pattern.test(command))?.[0] ?? 'other'

interface ProcessSample {
  parent: number
  /** Start time in ticks since boot. Distinguishes processes with a reused id. */
  started: number
  /** Processor time of the process itself, without its children, in seconds. */
  own: number
  /** Processor time of ended descendants that were waited for, in seconds. */
  ended: number
}

/** Parses a line of `/proc/<pid>/stat` (proc(5)). Undefined if the process has ended. */
export function parseStat(line: string): ProcessSample | undefined {
  // The second field is a name in parentheses, which may contain spaces and parentheses.
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ')
  const field = (at: number) => Number(fields[at - 3])
  if (fields.length < 20) return undefined
  return {
    parent: field(4),
    started: field(22),
    own: (field(14) + field(15)) / TICKS_PER_SECOND,
    ended: (field(16) + field(17)) / TICKS_PER_SECOND,
  }
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return '' // ended meanwhile
  }
}

export interface CpuTime {
  /** Seconds of CPU time by part, descending. */
  parts: [name: string, seconds: number][]
  /** Seconds of CPU time of this process and all of its descendants. */
  total: number
  /** Seconds since the start. */
  wall: number
  /** Idle seconds of this machine, summed over all cores. */
  idle: number
}

const idleSeconds = (): number => cpus().reduce((sum, { times }) => sum + times.idle / 1000, 0)

/**
 * Measures the CPU time of this process and its descendants until the returned function is called. Processes that live
 * for less than {@link INTERVAL} milliseconds appear under "short-lived processes". Linux only: elsewhere `parts` is
 * empty.
 */
export function measureCpuTime(): () => CpuTime {
  const begun = performance.now()
  const idleBefore = idleSeconds()
  const seen = new Map<string, { part: string; own: number }>()

  function sample(): void {
    const alive = new Map<number, ProcessSample>()
    for (const name of readdirSync('/proc')) {
      const found = /^\d+$/.test(name) ? parseStat(read(`/proc/${name}/stat`)) : undefined
      if (found) alive.set(Number(name), found)
    }
    const isOurs = (pid: number): boolean => {
      for (let at: number | undefined = pid; at !== undefined && at > 1; at = alive.get(at)?.parent)
        if (at === process.pid || seen.has(`${at} ${alive.get(at)?.started}`)) return true
      return false
    }
    for (const [pid, { own, started }] of alive) {
      const key = `${pid} ${started}`
      if (!seen.has(key) && !isOurs(pid)) continue
      const known = seen.get(key)
      // A process changes its command line when it executes another program, so the newest one counts.
      const command = read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ')
      seen.set(key, { own, part: command === '' && known ? known.part : processGroupOf(command) })
    }
  }
  if (process.platform === 'linux') sample()
  const timer = process.platform === 'linux' ? setInterval(sample, INTERVAL) : undefined

  return () => {
    clearInterval(timer)
    const wall = (performance.now() - begun) / 1000
    const idle = idleSeconds() - idleBefore
    if (process.platform !== 'linux') return { parts: [], total: 0, wall, idle }
    sample()
    const sums = new Map<string, number>()
    for (const { part, own } of seen.values()) sums.set(part, (sums.get(part) ?? 0) + own)
    const sampled = [...sums.values()].reduce((sum, one) => sum + one, 0)
    const self = parseStat(read('/proc/self/stat'))
    const total = Math.max(sampled, self ? self.own + self.ended : 0)
    if (total > sampled) sums.set('short-lived processes', total - sampled)
    return { parts: [...sums].sort(([, one], [, other]) => other - one), total, wall, idle }
  }
}

/** Minutes with one decimal. */
export const minutes = (seconds: number): string => (seconds / 60).toFixed(1)

/** A Markdown table, for CONTRIBUTING.md. */
export function cpuTimeTable({ parts: measured, total, wall, idle }: CpuTime): string {
  const rows = measured
    .filter(([, seconds]) => seconds >= 1)
    .map(([name, seconds]) => `| ${name} | ${minutes(seconds)} | ${Math.round((100 * seconds) / total)} % |`)
  return [
    '| part | CPU minutes | share |',
    '|---|---|---|',
    ...rows,
    `| all | ${minutes(total)} | 100 % |`,
    '',
    `${minutes(wall)} minutes on ${availableParallelism()} cores; cores were idle for ${minutes(idle)} core-minutes.`,
  ].join('\n')
}
