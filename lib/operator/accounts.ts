import type { App } from '#lib/app.ts'
import { oneTimePassword } from '#lib/domains/accounts/passwords.ts'
import { organisationExists } from '#lib/domains/accounts/queries.ts'
import type { Role } from '#lib/domains/accounts/rules.ts'
import { setRole } from '#lib/domains/accounts/service.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { firstAdmin } from './operator.ts'

export interface AccountLine {
  accountId: string
  email: string
  name: string
  role: string
  organisationId: string
  createdAt: Date
}

/** Account management by the operator. Everything is audited as `system:admin.account`; entries contain no addresses. */
export function operatorAccounts({ pipeline, accounts, approvals, db }: App) {
  const audit = (tx: Transaction, action: 'create' | 'update', resourceId: string, details: Record<string, unknown>) =>
    pipeline.auditWithin(tx, {
      actorId: 'system:admin.account',
      action,
      resourceType: 'account',
      resourceId,
      details,
      ip: '',
      at: pipeline.clock.now(),
    })
  /** Ends a requirement of the installation with its audit entry. `lift` returns the former value. */
  const liftSetting = <T>(
    setting: string,
    to: T,
    lift: (tx: Transaction, change: { now: Date; by: string }) => Promise<T>,
  ): Promise<{ before: T }> =>
    pipeline.transaction(async (tx) => {
      const now = pipeline.clock.now()
      const before = await lift(tx, { now, by: 'system:admin.account' })
      await pipeline.auditWithin(tx, {
        actorId: 'system:admin.account',
        action: 'update',
        resourceType: 'settings',
        ip: '',
        at: now,
        resourceId: setting,
        details: { fields: [setting], from: before, to },
      })
      return { before }
    })

  return {
    /**
     * Creates an account in the named organization, or in the first admin's, with a password that works until the person chooses one.
     * @throws `conflict` if the address has an account, `not_found` for an unknown organization
     */
    add: (person: {
      email: string
      name: string
      role: Role
      organisationId?: string | undefined
    }): Promise<{ accountId: string; organisationId: string; password: string }> => {
      const password = oneTimePassword()
      return pipeline.transaction(async (tx) => {
        const organisationId = person.organisationId ?? (await firstAdmin(tx)).organisationId
        if (!(await organisationExists(tx, organisationId)))
          throw new Problem('not_found', `The organization ${organisationId} does not exist.`)
        const { email, name, role } = person
        const now = pipeline.clock.now()
        const accountId = await accounts.create(tx, {
          email,
          name,
          role,
          organisationId,
          password,
          now,
          mustChangePassword: true,
        })
        await audit(tx, 'create', accountId, { operation: 'addAccount', role })
        return { accountId, organisationId, password }
      })
    },

    /** Changes a role, effective with the next request. @throws `not_found`, `conflict` if no admin would remain */
    changeRole: (email: string, role: Role): Promise<{ accountId: string; before: string }> =>
      pipeline.transaction(async (tx) => {
        const found = await accounts.withAddress(tx, email)
        if (!found) throw new Problem('not_found', 'No account has this email address.')
        const { accountId, role: before } = found
        if (role !== 'admin' && (await accounts.isLastAdmin(tx, accountId)))
          throw new Problem(
            'conflict',
            'This account is the only admin. Make another account an admin first: kp admin account role <email> admin',
          )
        await setRole(tx, accountId, role, pipeline.clock.now())
        await audit(tx, 'update', accountId, { operation: 'changeRole', changed: ['role'], from: before, to: role })
        return { accountId, before }
      }),

    /** Requires second factors of nobody. Returns of whom they were required. */
    liftSecondFactors: (): Promise<{ before: string }> =>
      liftSetting('second_factors', 'nobody', accounts.liftFactorRequirement),

    /** Requires approvals for nothing. Returns whether they were required. */
    liftApprovals: (): Promise<{ before: boolean }> =>
      liftSetting('two_person_approval', false, approvals.liftApprovals),

    /** Every account, oldest first. */
    list: (): Promise<AccountLine[]> => accounts.all(db.prisma),
  }
}
