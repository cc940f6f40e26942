import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { nodeFlags } from '#bin/children.ts'

const folder = mkdtempSync(join(tmpdir(), 'kp-sampling-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** What a process with these settings samples from 0 … 99, and what it reports. */
function inProcess(settings: Record<string, string>, subject = 'numbers'): { chosen: number[]; report: string } {
  const file = join(folder, `${Object.values(settings).join('-')}-${subject}.jsonl`)
  const code = `
    import { sampled, sampledRuns } from '#lib/testing/sampling.ts'
    console.log(JSON.stringify(sampled(${JSON.stringify(subject)}, [...Array(100).keys()], 10)), sampledRuns('runs', 500, 20))`
  const out = execFileSync(process.execPath, [...nodeFlags, '--input-type=module', '-e', code], {
    encoding: 'utf8',
    env: { NODE_ENV: 'test', PATH: process.env.PATH, KP_SAMPLE_REPORT: file, ...settings },
  })
  return { chosen: JSON.parse(out.slice(0, out.indexOf(']') + 1)), report: readFileSync(file, 'utf8') }
}

test('sampled returns the same ordered cases for the same seed and subject', () => {
  const { chosen, report } = inProcess({ KP_SEED: '7' })
  expect(chosen).toHaveLength(10)
  expect(chosen).toEqual([...new Set(chosen)].sort((one, other) => one - other))
  expect(inProcess({ KP_SEED: '7' }).chosen).toEqual(chosen)
  expect(report).toBe('{"subject":"numbers","ran":10,"of":100}\n{"subject":"runs","ran":20,"of":500}\n')
})

test('sampled returns other cases for another seed and for another subject', () => {
  const { chosen } = inProcess({ KP_SEED: '7' })
  expect(inProcess({ KP_SEED: '8' }).chosen).not.toEqual(chosen)
  expect(inProcess({ KP_SEED: '7' }, 'others').chosen).not.toEqual(chosen)
})

test('sampled returns every case when KP_FULL is 1', () => {
  const { chosen, report } = inProcess({ KP_SEED: '7', KP_FULL: '1' })
  expect(chosen).toHaveLength(100)
  expect(report).toContain('"ran":500,"of":500')
})
