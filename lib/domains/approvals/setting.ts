import type { RequireApproval } from '#lib/kernel/approval.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import { changeApprovalSetting, readApprovalSetting } from './contract.ts'
import type { ApprovalDeps } from './ports.ts'

const resourceId = 'two_person_approval'

/** Use cases of the setting that requires approvals. Turning it off needs an approval itself. */
export const approvalSetting = ({ activeAdmins, db, setting }: ApprovalDeps, requireApproval: RequireApproval) => ({
  readSetting: read(readApprovalSetting, async () => ({
    resourceId,
    body: { data: { is_on: await setting.read(), active_admins: (await activeAdmins(db)).length } },
  })),

  changeSetting: mutation(changeApprovalSetting, async (ctx, { body }) => {
    if (ctx.actor.accountId === undefined)
      throw new Problem('forbidden', 'This operation requires the session of an admin. Nothing was changed.')
    const before = await setting.read(ctx.tx)
    const { length: admins } = await activeAdmins(ctx.tx)
    if (body.is_on && !before && admins < 2)
      throw new Problem('wrong_state', 'This needs at least two active admins. Nothing was changed.')
    if (before && !body.is_on) await requireApproval(ctx, { operation: changeApprovalSetting, input: { body } })
    await setting.store(ctx.tx, body.is_on, { now: ctx.now, by: ctx.actor.id })
    return {
      resourceId,
      body: { data: { is_on: body.is_on, active_admins: admins } },
      details: { fields: [resourceId], from: before, to: body.is_on },
    }
  }),

  /** Whether approvals are required. */
  isRequired: (): Promise<boolean> => setting.read(),

  /** Turns the setting off on behalf of the operator. Returns whether it was on. */
  async liftApprovals(tx: Transaction, change: { now: Date; by: string }): Promise<boolean> {
    const before = await setting.read(tx)
    await setting.store(tx, false, change)
    return before
  },
})
