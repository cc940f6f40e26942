import { appendFileSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import fc from 'fast-check'

/** `KP_FULL=1` runs every case of the long tests. Otherwise they run a sample, which `KP_SEED` repeats. */
const isFullRun = process.env.KP_FULL === '1'
export const sampleSeed = Number(process.env.KP_SEED ?? Date.now() % 2 ** 31)

/** `npm test` prints these lines at its end. */
function report(subject: string, ran: number, of: number): void {
  const { KP_SAMPLE_REPORT } = process.env
  if (KP_SAMPLE_REPORT !== undefined) appendFileSync(KP_SAMPLE_REPORT, `${JSON.stringify({ subject, ran, of })}\n`)
}

/** Chooses `size` cases by seed and subject, in their order. Returns all cases in a full run. */
export function sampled<T>(subject: string, cases: readonly T[], size: number): T[] {
  const length = isFullRun ? cases.length : Math.min(size, cases.length)
  report(subject, length, cases.length)
  if (length === cases.length) return [...cases]
  const indices = fc.subarray([...cases.keys()], { minLength: length, maxLength: length })
  const [chosen = []] = fc.sample(indices, { seed: crc32(subject, sampleSeed), numRuns: 1 })
  return cases.filter((_, at) => chosen.includes(at))
}

/** How often a property test runs: `size` times, or `full` times in a full run. */
export function sampledRuns(subject: string, full: number, size: number): number {
  const runs = isFullRun ? full : size
  report(subject, runs, full)
  return runs
}
