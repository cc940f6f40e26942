// Removes each guard once, in the source that a child process loads, and expects that a test of the attack fails. The product has no switch for it.
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { sampled } from '#lib/testing/sampling.ts'

interface Replacement {
  file: string
  /** Occurs once in the file. */
  source: string
  /** What replaces it. */
  without: string
}
interface Guard extends Replacement {
  /** A second guard of the same attack, without which the first one would not be missed. */
  also?: Replacement
  /** The test file, and a part of the name of the test that fails without the guard. */
  attack: [file: string, name: string]
}
const authorise = 'lib/kernel/use-case.ts'
const effects = 'lib/effects.int.test.ts'
const authors = 'lib/domains/projects/participants/authors.ts'
const takeover = 'lib/domains/projects/participants/takeover.int.test.ts'
const retention = 'lib/domains/retention/service.ts'
const retentionTest = 'lib/domains/retention/retention.int.test.ts'
const ownAgents = 'lib/domains/agents/own.int.test.ts'
const importing = 'lib/domains/projects/importing/importing.int.test.ts'
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
  'what a token of an admin may not do': {
    file: authorise,
    source: "if (isInPerson(operation.id)) requirePerson(ctx, 'call this operation')",
    without: '',
    attack: [effects, 'return 403 for a token with every scope'],
  },
  'rights of admins with a token': {
    file: 'lib/access/access.ts',
    source: "row.scopes.includes('admin') && actsAsAdmin(operation)",
    without: "row.scopes.includes('admin')",
    also: { file: authorise, source: "requirePerson(ctx, 'change or erase records of others')", without: '' },
    attack: [effects, 'are changed by no operation that a token of scope admin may call'],
  },
  'exports of others, for a token of an admin': {
    file: authorise,
    source: "requirePerson(ctx, 'export the data of another subject')",
    without: '',
    attack: ['lib/domains/exports/export-of-others.int.test.ts', 'is rejected for an admin whose password'],
  },
  'shorter periods, for a token of an admin': {
    file: authorise,
    source: "if (isShorter && ctx.actor.kind === 'agent')",
    without: "if (isShorter && ctx.actor.kind === 'anonymous')",
    attack: [retentionTest, 'is refused for every token of scope admin'],
  },
  'smaller storage quotas, keyrings and retirements, for a token': {
    file: authorise,
    source: 'requirePerson(ctx, what)',
    without: '',
    attack: ['lib/domains/quotas/quotas.int.test.ts', 'is made so small that writes can stop only by an admin'],
  },
  'lower tiers and limits of agents': {
    file: 'lib/domains/agents/service.ts',
    source: 'isReduction(agent, data)',
    without: 'false',
    attack: ['lib/domains/agents/agents.int.test.ts', 'are lowered only in person'],
  },
  'agents of roles that may only read': {
    file: 'lib/domains/agents/registration.ts',
    source: "if (!actor.can('agents:write'))",
    without: "if (actor.id === '')",
    attack: [ownAgents, 'are neither created nor claimed by an auditor'],
  },
  'invitations of creators who may no longer invite': {
    file: 'lib/domains/agents/registration.ts',
    source: 'if (!spent || !(await mayStillInvite(tokens, ctx, spent.createdBy)))',
    without: 'if (!spent)',
    attack: ['lib/domains/agents/agents.int.test.ts', 'an invitation ends when its creator loses'],
  },
  'names and titles of restricted authors': {
    file: 'lib/domains/projects/readable-rows.ts',
    source: 'OR NOT EXISTS (SELECT FROM restricted_writers rw',
    without: 'OR NOT EXISTS (SELECT FROM (SELECT NULL::text AS kind, NULL::text AS id) rw',
    attack: [
      'lib/domains/projects/participants/restricted-authors.int.test.ts',
      'of a member are left out while their account is restricted',
    ],
  },
  'approvals of what one wrote': {
    file: 'lib/domains/knowledge/sops/service.ts',
    source: 'if (versions.isOwn)',
    without: 'if (versions.isOwn === null)',
    attack: ['lib/domains/knowledge/sops/sops.int.test.ts', 'is rejected for the author, the owner of the author'],
  },
  'the number of agents of an account': {
    file: 'lib/domains/agents/registration.ts',
    source: 'if (free >= maxFreeAgents)',
    without: 'if (free < 0)',
    attack: [ownAgents, 'of the tier free are bounded'],
  },
  'the order in which account and session are locked': {
    file: 'lib/domains/accounts/account-status.ts',
    source: 'if (accountId !== undefined) await lockedStatus(tx, { id: accountId })',
    without: '',
    attack: [ownAgents, 'creation and demotion lock the account before the session'],
  },
  'credentials that are made in a session that has ended': {
    file: authorise,
    source: 'if (needsOpenSession(operation.id)) await ctx.pipeline.requireOpenSession(tx, ctx.actor, ctx.now)',
    without: '',
    attack: [
      'lib/domains/privacy-requests/filing/leaked-token.int.test.ts',
      'is not created if the session ends before',
    ],
  },
  'links of revoked tokens and ended sessions': {
    file: 'lib/domains/snapshots/service.ts',
    source: 'if (!isPresent) throw none()',
    without: 'if (!link) throw none()',
    attack: ['lib/domains/snapshots/snapshots.int.test.ts', 'is downloaded with no link whose token'],
  },
  'the second factor for acts on oneself': {
    file: authorise,
    source: 'if (hasFactor) requireRecentPassword(ctx)',
    without: '',
    attack: [
      'lib/domains/accounts/second-factors/second-factors.int.test.ts',
      'needs the second factor too, and changes nothing without it',
    ],
  },
  'addresses of the person who assigns them': {
    file: authors,
    source: 'await refuseOwnAddress(ctx, changes)',
    without: '',
    attack: [takeover, 'can be rectified by an owner of the project, but not to an address of the owner'],
  },
  'approvals of own proposals': {
    file: 'lib/domains/approvals/service.ts',
    source: "if (isOwn !== (decision === 'withdraw'))",
    without: "if (isOwn && decision === '')",
    attack: ['lib/domains/approvals/approvals.int.test.ts', 'is not possible for the proposer'],
  },
  'tokens that write, of roles that may only read': {
    file: 'lib/domains/tokens/lifecycle.ts',
    source: 'refuseEscalation(ctx, issuer, { scopes, expiresAt })',
    without: '',
    attack: [ownAgents, 'are neither created nor claimed by an auditor'],
  },
  'slow uploads': {
    file: 'lib/http/api-server.ts',
    source: 'max + (received / slowestBody) * 1000 - waited',
    without: 'max',
    attack: ['lib/http/connection.int.test.ts', 'is rejected when an upload is slower'],
  },
  'uploads of one tenant': {
    file: 'lib/http/admission.ts',
    source: 'share: 1 / 8',
    without: 'share: 1',
    attack: ['lib/http/connection.int.test.ts', 'of one tenant have eight slots'],
  },
  'legal holds of tokens': {
    file: 'lib/domains/holds/service.ts',
    source: "if (actor.kind === 'agent') await boundTokens(tx, now)",
    without: '',
    attack: ['lib/domains/holds/holds.int.test.ts', 'is created by tokens only up to a number of each day'],
  },
  'keys of long imports': {
    file: authorise,
    source: 'await pipeline.idempotency.renew(tx, claim, mine, now)',
    without: '',
    attack: [importing, 'keeps its Idempotency-Key for longer than an hour'],
  },
  'keys of imports that another request claimed': {
    file: 'lib/domains/idempotency/records.ts',
    source: 'if ((await renewKey(tx, { scope, key, mine, now })) === 1) return',
    without: 'if ((await renewKey(tx, { scope, key, mine, now })) < 2) return',
    attack: [importing, 'stores nothing more after another request got its Idempotency-Key'],
  },
  'applications whose owner changed the sign-in': {
    file: authorise,
    source: '  if (actor.needsOwner)\n',
    without: '  if (actor.needsOwner && actor.accountId)\n',
    attack: ['lib/domains/projects/participants/applications.int.test.ts', 'after its owner changed the password'],
  },
  'addresses that agents of others report': {
    file: authors,
    source: 'if ((await findSpeaker(tx, { project, agent: actor.id })).length === 0) return false',
    without: '',
    attack: [takeover, 'cannot be prepared by the agent of a member'],
  },
  'addresses that are reported after something was written': {
    file: authors,
    source: 'return (await findWritten(tx, { participant })).length === 0',
    without: 'return true',
    attack: [takeover, 'after it wrote for the person gives nobody the participation'],
  },
  'addresses that a doubtful token reports': {
    file: authors,
    source: 'if (actor.accountId !== undefined || actor.needsOwner) return false',
    without: '',
    attack: [takeover, 'is no evidence while the token waits for its owner'],
  },
  'changes of addresses with a token that may only write': {
    file: authors,
    source: "if (!ctx.actor.scopes.includes('privacy'))",
    without: 'if (ctx.actor.scopes.length === 0)',
    attack: [takeover, 'is replaced or confirmed, and an account connected'],
  },
  'claims with an address that nobody confirmed': {
    file: 'lib/domains/projects/participants/service.ts',
    source: 'if (row.account_id === null && !row.email_confirmed)',
    without: "if (row.account_id === '')",
    attack: [takeover, 'cannot be prepared by the agent of a member'],
  },
  'claims with an address that the claimer confirmed': {
    file: 'lib/domains/projects/participants/service.ts',
    source: 'row.email_by !== null &&',
    without: "row.email_by === '' &&",
    attack: [takeover, 'cannot be claimed by them'],
  },
  'links that an admin saw': {
    file: 'lib/domains/privacy-requests/filing/links.ts',
    source: 'usedAt: null, shownAt: null,',
    without: 'usedAt: null,',
    attack: ['lib/domains/privacy-requests/filing/links.int.test.ts', 'verifies no request, cancels none'],
  },
  'status links that an admin saw': {
    file: 'lib/domains/privacy-requests/form/service.ts',
    source:
      "if (link.shownAt !== null)\n      throw new Problem(\n        'wrong_state',\n        'This link cannot withdraw",
    without: "if (row.id === '')\n      throw new Problem(\n        'wrong_state',\n        'This link cannot withdraw",
    attack: ['lib/domains/privacy-requests/filing/links.int.test.ts', 'withdraws no request from the form'],
  },
  'erasures that a manager files at once': {
    file: 'lib/domains/privacy-requests/service.ts',
    source: "const isOffice = found.actsAs === 'admin' || found.actsAs === 'manager'",
    without: "const isOffice = found.actsAs === 'admin'",
    attack: ['lib/domains/privacy-requests/time-to-cancel.int.test.ts', 'waits 24 hours for a manager'],
  },
  'confirmations of former managers': {
    file: 'lib/domains/privacy-requests/execution/execution.ts',
    source: "const isManager = verifiedBy === 'manager' && participantId !== null",
    without: "const isManager = verifiedBy === 'manager' && participantId === ''",
    attack: ['lib/domains/privacy-requests/time-to-cancel.int.test.ts', 'does not begin for a manager'],
  },
  'threads of others': {
    file: 'lib/domains/projects/checkpoints/thread-decisions.ts',
    source: 'isOwn: isOwner || !mayDelete || decision',
    without: 'isOwn: isOwner || mayDelete || !mayDelete || decision',
    attack: ['lib/domains/projects/checkpoints/thread-decisions.int.test.ts', 'needs a recently entered password'],
  },
  'cancelled erasures of others': {
    file: 'lib/domains/projects/erasing/service.ts',
    source: 'if (run.requestedBy !== ctx.actor.id && !ctx.actor.agents.includes(run.requestedBy))',
    without: "if (run.requestedBy === '')",
    attack: ['lib/domains/projects/erasing/waiting.int.test.ts', 'who cancels only own orders'],
  },
  'confirmations of former admins': {
    file: 'lib/domains/privacy-requests/execution/execution.ts',
    source: 'if (!(await isConfirmationInForce(deps, work, row))) return withdrawConfirmation(deps, work, row)',
    without: '',
    attack: ['lib/domains/privacy-requests/time-to-cancel.int.test.ts', 'does not begin for a demoted account'],
  },
  'shorter periods of former admins, where they are read': {
    file: retention,
    source: 'shortenings.filter((one) => !withdrawn.has(one))',
    without: 'shortenings',
    attack: [retentionTest, 'of an admin who was demoted before it is in force'],
  },
  'shorter periods of former admins, where they are settled': {
    file: retention,
    source: 'if (withdrawn.has(one))',
    without: "if (setBy === '')",
    attack: [retentionTest, 'of an admin who was closed before it is in force'],
  },
  'callers who lose their rights during a long import': {
    file: 'lib/kernel/use-case.ts',
    source: 'await ctx.pipeline.requirePresent(tx, ctx.actor, isOrdinaryWriting(operation), now)',
    without: '',
    attack: [importing, 'stores none of the lines that arrive after'],
  },
  'projects that a doubtful token closes': {
    file: 'lib/domains/projects/closing/service.ts',
    source: '  guardApplication(ctx)\n',
    without: '',
    attack: ['lib/domains/projects/closing/closing.int.test.ts', 'is refused for a token that waits for its owner'],
  },
  'projects that agents of closed accounts closed': {
    file: 'lib/domains/projects/closing/repository.ts',
    source: 'OR EXISTS (SELECT FROM account_names a WHERE a.id = n.owner_id AND NOT a.is_open)',
    without: '',
    attack: ['lib/domains/projects/closing/closing.int.test.ts', 'ordered by an agent whose owner'],
  },
  'projects that former admins closed': {
    file: 'lib/domains/projects/closing/service.ts',
    source: 'if (isHeld || (await isWithdrawn(ctx, tx, row))) return',
    without: 'if (isHeld) return',
    attack: [
      'lib/domains/projects/closing/closing.int.test.ts',
      'is withdrawn after the 30 days when it was ordered by',
    ],
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

const replacementsOf = (guard: Guard): Replacement[] => [guard, ...(guard.also ? [guard.also] : [])]
/** Replaces the guard in the source of its module when the child process loads it. */
const loader = (guard: Guard): string =>
  `import { registerHooks } from 'node:module'
const replacements = ${JSON.stringify(replacementsOf(guard))}
registerHooks({ load(url, context, next) {
  const loaded = next(url, context)
  const replaced = replacements.find(({ file }) => url.split('?')[0].endsWith('/' + file))
  return replaced ? { ...loaded, source: String(loaded.source).replace(replaced.source, () => replaced.without) } : loaded
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
    for (const [name, guard] of Object.entries(guards))
      for (const { file, source } of replacementsOf(guard))
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
