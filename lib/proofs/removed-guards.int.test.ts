// Removes each guard once, in the source that a child process loads, and expects that a test of the attack fails. The product has no switch for it.
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { sampled } from '#lib/testing/sampling.ts'

interface Guard {
  file: string
  /** Occurs once in the file. */
  source: string
  /** What replaces it. */
  without: string
  /** The test file, and a part of the name of the test that fails without the guard. */
  attack: [file: string, name: string]
}
const authorise = 'lib/kernel/authorise.ts'
const effects = 'lib/effects.int.test.ts'
const guards: Record<string, Guard> = {
  'a recently entered password': {
    file: authorise,
    source: 'if (operation.needsRecentPassword) requireRecentPassword(ctx)',
    without: '',
    attack: [effects, 'need a recently entered password where they publish'],
  },
  'lent tokens': {
    file: authorise,
    source: 'if (!actor.isLent || isOpenToLent(id)) return',
    without: 'if (id) return',
    attack: [effects, 'reads nothing that the admin cannot read'],
  },
}
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kp-guards-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const Report = z.object({
  testResults: z.array(
    z.object({
      assertionResults: z.array(
        z.object({ status: z.string(), title: z.string(), failureMessages: z.array(z.string()) }),
      ),
    }),
  ),
})

/** Replaces the guard in the source of its module when the child process loads it. */
const loader = ({ file, source, without }: Guard): string =>
  `import { registerHooks } from 'node:module'
registerHooks({ load(url, context, next) {
  const loaded = next(url, context)
  if (!url.split('?')[0].endsWith(${JSON.stringify(`/${file}`)})) return loaded
  return { ...loaded, source: String(loaded.source).replace(${JSON.stringify(source)}, () => ${JSON.stringify(without)}) }
} })`

/** Runs the tests of the attack without the guard. Returns the messages of those that failed, and how many passed. */
async function attacked(name: string, guard: Guard): Promise<{ failures: string[]; passed: number }> {
  const [file, title] = guard.attack
  const output = join(folder, `${Object.keys(guards).indexOf(name)}.json`)
  const options = [
    'run',
    '--project',
    'integration',
    file,
    '--maxWorkers=1',
    '--reporter=json',
    `--outputFile=${output}`,
  ]
  const inherited = Object.entries(process.env).filter(([key]) => !key.startsWith('VITEST'))
  await new Promise<void>((resolve) => {
    const child = execFile(
      process.execPath,
      ['node_modules/vitest/vitest.mjs', ...options, '-t', title],
      {
        env: {
          NODE_ENV: 'test',
          ...Object.fromEntries(inherited),
          NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(loader(guard))}`,
        },
      },
      () => resolve(),
    )
    child.stdin?.end()
  })
  const { testResults } = Report.parse(JSON.parse(await readFile(output, 'utf8')))
  const ran = testResults.flatMap(({ assertionResults }) => assertionResults)
  return {
    failures: ran.flatMap(({ status, failureMessages }) => (status === 'failed' ? failureMessages.slice(0, 1) : [])),
    passed: ran.filter(({ status }) => status === 'passed').length,
  }
}

describe('the guards', () => {
  it('occur once in their files', async () => {
    for (const [name, { file, source }] of Object.entries(guards))
      expect([name, (await readFile(file, 'utf8')).split(source).length]).toEqual([name, 2])
  })

  it.each(sampled('removed guards', Object.keys(guards), 1))(
    'fail a test when they are removed: %s',
    async (name) => {
      const guard = guards[name]
      if (!guard) throw new Error('unknown guard')
      const { failures } = await attacked(name, guard)
      // Another error, such as a module that does not load, would prove nothing.
      expect(failures).toContainEqual(expect.stringContaining('AssertionError'))
    },
    900_000,
  )
})
