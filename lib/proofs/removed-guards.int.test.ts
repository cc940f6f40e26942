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
const takeover = 'lib/domains/projects/participants/takeover.int.test.ts'
const leaked = 'lib/domains/privacy-requests/filing/leaked-token.int.test.ts'
const guards: Record<string, Guard> = {
  'operations that only people may call': {
    file: authorise,
    source: "if (isInPerson(operation.id)) requirePerson(ctx, 'call this operation')",
    without: '',
    attack: [effects, 'return 403 for a token with every scope'],
  },
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
  'records of others': {
    file: authorise,
    source: '  consulted(ctx, effect)\n  if (isOwn) return',
    without: '  consulted(ctx, effect)\n  if (ctx) return',
    attack: [effects, 'are changed by no operation of an admin whose password was not entered recently'],
  },
  'rights of admins with a token': {
    file: 'lib/kernel/effects.ts',
    source: "return verb === 'admin' ||",
    without: "return verb !== '' ||",
    attack: [effects, 'are changed by no operation that a token of scope admin may call'],
  },
  'effects whose guard was not consulted': {
    file: 'lib/kernel/use-case.ts',
    source: 'if (!consulted?.has(effect))',
    without: 'if (consulted === null)',
    attack: [effects, 'did not consult the guard of its effect'],
  },
  'exports of others': {
    file: authorise,
    source: '  if (isOwn) return true\n  requirePerson(',
    without: '  if (ctx) return true\n  requirePerson(',
    attack: ['lib/domains/exports/export-of-others.int.test.ts', 'is rejected for an admin whose password'],
  },
  'applications whose owner changed the sign-in': {
    file: authorise,
    source: '  if (actor.needsOwner)\n',
    without: "  if (actor.needsOwner && actor.kind === 'person')\n",
    attack: ['lib/domains/projects/participants/applications.int.test.ts', 'files and exports nothing after its owner'],
  },
  'acts on one’s own account': {
    file: authorise,
    source: 'if (hasFactor) requireRecentPassword(ctx)',
    without: '',
    attack: ['lib/domains/accounts/second-factors/second-factors.int.test.ts', 'needs the second factor too'],
  },
  'shorter retention periods': {
    file: authorise,
    source: "if (isShorter && ctx.actor.kind === 'agent')",
    without: "if (isShorter && ctx.actor.kind === 'anonymous')",
    attack: ['lib/domains/retention/retention.int.test.ts', 'is refused for every token of scope admin'],
  },
  'restricted callers': {
    file: authorise,
    source: '  if (actor.isRestricted)\n',
    without: "  if (actor.isRestricted && actor.kind === 'anonymous')\n",
    attack: ['lib/domains/agents/agents.int.test.ts', 'restricts the agent, offers erasure'],
  },
  'addresses that agents report later': {
    file: 'lib/domains/projects/participants/authors.ts',
    source: 'return (await findWritten(tx, { participant })).length === 0',
    without: 'return true',
    attack: [takeover, 'gives nobody the participation'],
  },
  'addresses that agents of others report': {
    file: 'lib/domains/projects/participants/authors.ts',
    source: '  if (!speaker) return false\n',
    without: '  if (!speaker) return true\n',
    attack: [takeover, 'cannot be prepared by the agent of a member'],
  },
  'changed addresses of participants': {
    file: 'lib/domains/projects/participants/authors.ts',
    source: "|| isNewAddress) && role !== 'owner')",
    without: '|| isNewAddress) && role === null)',
    attack: [takeover, 'cannot be rectified by a manager or admin'],
  },
  'one’s own address for a participant': {
    file: 'lib/domains/projects/participants/authors.ts',
    source: '  if (account === undefined) return\n',
    without: '  if (account !== null) return\n',
    attack: [takeover, 'but not to an address of the owner'],
  },
  'claims of unconfirmed addresses': {
    file: 'lib/domains/projects/participants/service.ts',
    source: 'if (row.account_id === null && !row.email_confirmed)',
    without: 'if (row.account_id === null && row.email === null)',
    attack: [takeover, 'gives nobody the participation'],
  },
  'tokens of sessions that end': {
    file: 'lib/kernel/use-case.ts',
    source: 'if (sessionId !== undefined && needsOpenSession(operation.id))',
    without: 'if (sessionId === null)',
    attack: [leaked, 'while the session ends'],
  },
  'marked tokens': {
    file: 'lib/domains/tokens/service.ts',
    source: 'data: { ownerConfirms: true },',
    without: 'data: { ownerConfirms: false },',
    attack: [leaked, 'files an erasure that the owner must confirm'],
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
      expect(failures.length).toBeGreaterThan(0)
      // Another error, such as a module that does not load, would prove nothing.
      for (const failure of failures) expect(failure).toMatch(/AssertionError|answered 20|Error: expected/)
    },
    240_000,
  )
})
