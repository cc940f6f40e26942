import { existsSync, statfsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/** In bytes. PostgreSQL writes its log in files of 16 MiB, and panics when it cannot create the next ones. */
const leastFree = 64 * 1024 * 1024

const freeOf = (folder: string): number => {
  let path = resolve(folder)
  while (!existsSync(path) && path !== dirname(path)) path = dirname(path)
  const { bavail, bsize } = statfsSync(path)
  return bavail * bsize
}

/** Why the embedded database cannot start in this folder. Undefined when there is enough space. */
export function tooLittleSpace(folder: string, free = freeOf(folder)): string | undefined {
  if (free >= leastFree) return undefined
  const [left, needed] = [free, leastFree].map((bytes) => `${Math.floor(bytes / 1024 / 1024)} MiB`)
  return `The disk is full: ${resolve(folder)} has ${left} left, and the database needs ${needed} to start. Free some space and start again. No stored data was lost.`
}
