import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sampleFolder } from '#bin/demo/sample-folder.ts'
import { errorCode } from '#lib/kernel/error-code.ts'
import { benchTrace } from './trace.ts'

/** Units to measure with, without ids: real traces if available, otherwise the built-in one. */
export function sampleUnits(): { units: Record<string, unknown>[]; what: string } {
  try {
    const lines = readFileSync(join(sampleFolder, 'traces.jsonl'), 'utf8').trim().split('\n')
    const units = lines.map((line) => {
      const { id: _, ...unit } = JSON.parse(line)
      return unit
    })
    return { units, what: `${units.length} real traces` }
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error
    return { units: [benchTrace], what: 'one made-up trace, for want of real ones (KP_SAMPLE_DATA)' }
  }
}
