import { storedSetting } from '#lib/domains/settings/writes.ts'
import type { MutationContext, Transaction } from '#lib/kernel/context.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import type { AccountsDeps, FactorPolicySetting } from '../ports.ts'
import { claimReminders, countRequiredFactors } from '../repository.ts'
import { enqueueNotice } from '../writes.ts'
import {
  changeRequirement,
  type RequirementView,
  readRequirement,
  remindOfRequirement,
  StoredFactorPolicy,
} from './contract.ts'
import { type FactorPolicy, isRequired, maxDaysAhead, maxReminders, reminderPause } from './rules.ts'

const resourceId = 'second_factors'

/** The setting that says who must have a second factor. */
export const factorPolicySetting = (db: Database): FactorPolicySetting =>
  storedSetting<FactorPolicy>(db, {
    name: 'second_factors',
    schema: StoredFactorPolicy,
    fallback: { required_of: 'nobody', from: null },
  })

/** A token outlives the role of its creator, so only signed-in people decide who may sign in how. */
const refuseTokens = ({ actor }: MutationContext): void => {
  if (actor.accountId === undefined)
    throw new Problem('forbidden', 'This operation requires the session of an admin. Nothing was changed.')
}

async function viewOf(on: Database | Transaction, policy: FactorPolicy): Promise<RequirementView> {
  const [counts] = await countRequiredFactors(on, { everybody: policy.required_of === 'everybody' })
  const { accounts = 0, without = 0, by_provider = 0 } = policy.required_of === 'nobody' ? {} : (counts ?? {})
  return { ...policy, accounts, without, by_provider }
}

function policyOf(body: { required_of: FactorPolicy['required_of']; from?: string | undefined }, now: Date) {
  if (body.required_of === 'nobody') return { required_of: body.required_of, from: null }
  const from = new Date(Math.max(now.getTime(), body.from === undefined ? 0 : Date.parse(body.from)))
  if (from.getTime() > now.getTime() + maxDaysAhead * 86_400_000)
    throw invalid(['from'], `must be at most ${maxDaysAhead} days ahead`)
  return { required_of: body.required_of, from: from.toISOString() }
}

const change = ({ factorPolicy, requireApproval }: Pick<AccountsDeps, 'factorPolicy' | 'requireApproval'>) =>
  mutation(changeRequirement, async (ctx, { body }) => {
    refuseTokens(ctx)
    const policy = policyOf(body, ctx.now)
    if (policy.from !== null && ctx.actor.hasSecondFactor !== true)
      throw new Problem('wrong_state', 'Add a second factor to your own account first. Nothing was changed.')
    await requireApproval(ctx, { operation: changeRequirement, input: { body } })
    const before = await factorPolicy.read(ctx.tx)
    await factorPolicy.store(ctx.tx, policy, { now: ctx.now, by: ctx.actor.id })
    return {
      resourceId,
      body: { data: await viewOf(ctx.tx, policy) },
      details: { fields: ['second_factors'], from: before.required_of, to: policy.required_of, since: policy.from },
    }
  })

const remind = ({ factorPolicy }: Pick<AccountsDeps, 'factorPolicy'>) =>
  mutation(remindOfRequirement, async (ctx) => {
    refuseTokens(ctx)
    const { required_of: who, from } = await factorPolicy.read(ctx.tx)
    if (from === null) throw new Problem('wrong_state', 'Nobody must have a second factor. No email was sent.')
    const claimed = await claimReminders(ctx.tx, {
      everybody: who === 'everybody',
      now: ctx.now,
      limit: maxReminders,
      before: new Date(ctx.now.getTime() - reminderPause),
    })
    for (const { id } of claimed)
      await enqueueNotice(ctx.tx, {
        kind: 'second-factor-reminder',
        accountId: id,
        at: ctx.now,
        requiredFrom: new Date(from),
      })
    return {
      resourceId,
      body: { data: { reminded: claimed.length } },
      details: { reminded: claimed.length },
    }
  })

/** Use cases of admins who require second factors. */
export const factorRequirement = (db: Database, deps: Pick<AccountsDeps, 'factorPolicy' | 'requireApproval'>) => ({
  factorRequirement: read(readRequirement, async () => ({
    resourceId,
    body: { data: await viewOf(db, await deps.factorPolicy.read()) },
  })),
  changeFactorRequirement: change(deps),
  remindOfFactors: remind(deps),
  /** Ends the requirement on behalf of the operator. Returns the group of people for whom it was in force. */
  async liftFactorRequirement(tx: Transaction, change: { now: Date; by: string }) {
    const { required_of: before } = await deps.factorPolicy.read(tx)
    await deps.factorPolicy.store(tx, { required_of: 'nobody', from: null }, change)
    return before
  },
  /** Returns who must have a second factor, from a cache that is at most one second old. */
  recentFactorPolicy: deps.factorPolicy.recent,
})

/** @throws Problem `wrong_state` if the account must have a second factor and this is its last one */
export async function keepLastFactor(
  tx: Transaction,
  { factorPolicy }: Pick<AccountsDeps, 'factorPolicy'>,
  { accountId, left, now }: { accountId: string; left: number; now: Date },
): Promise<void> {
  if (left > 0) return
  const account = await tx.account.findUnique({ where: { id: accountId }, select: { role: true } })
  if (account && isRequired(await factorPolicy.read(tx), account.role, now))
    throw new Problem(
      'wrong_state',
      'Your account must have a second factor, and this is the last one. Add another one first. Nothing was changed.',
    )
}
