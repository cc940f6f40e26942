import type { App } from '#lib/app.ts'
import { oneTimePassword } from '#lib/domains/accounts/passwords.ts'
import { normaliseEmail, type Role } from '#lib/domains/accounts/rules.ts'
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
export function operatorAccounts({ gate, accounts, db }: App) {
  const audit = (tx: Transaction, action: 'create' | 'update', resourceId: string, details: Record<string, unknown>) =>
    gate.auditWithin(tx, {
      ...{ actorId: 'system:admin.account', action, resourceType: 'account', resourceId, details, ip: '' },
      at: gate.clock.now(),
    })

  return {
    /**
     * Creates an account in the named organisation, or in the first admin's, with a password that works until the person chooses one.
     * @throws `conflict` if the address has an account, `not_found` for an unknown organisation
     */
    add: (person: {
      email: string
      name: string
      role: Role
      organisationId?: string | undefined
    }): Promise<{ accountId: string; organisationId: string; password: string }> => {
      const password = oneTimePassword()
      return gate.transaction(async (tx) => {
        const organisationId = person.organisationId ?? (await firstAdmin(tx)).organisationId
        if ((await tx.organisation.count({ where: { id: organisationId } })) === 0)
          throw new Problem('not_found', `There is no organisation ${organisationId}.`)
        const { email, name, role } = person
        const now = gate.clock.now()
        const accountId = await accounts.create(tx, {
          ...{ email, name, role, organisationId, password, now },
          mustChangePassword: true,
        })
        await audit(tx, 'create', accountId, { operation: 'addAccount', role })
        return { accountId, organisationId, password }
      })
    },

    /** Changes a role, effective with the next request. @throws `not_found`, `conflict` if no admin would remain */
    changeRole: (email: string, role: Role): Promise<{ accountId: string; before: string }> =>
      gate.transaction(async (tx) => {
        const found = await tx.account.findUnique({
          where: { email: normaliseEmail(email) },
          select: { id: true, role: true },
        })
        if (!found) throw new Problem('not_found', 'No account has this e-mail address.')
        if (role !== 'admin' && (await accounts.isLastAdmin(tx, found.id)))
          throw new Problem(
            'conflict',
            'This is the last admin, so nobody could run the installation any more. Make somebody else an admin first: kp admin account role <e-mail> admin',
          )
        await tx.account.update({ where: { id: found.id }, data: { role, updatedAt: gate.clock.now() } })
        await audit(tx, 'update', found.id, { operation: 'changeRole', changed: ['role'], from: found.role, to: role })
        return { accountId: found.id, before: found.role }
      }),

    /** Every account, oldest first. */
    async list(): Promise<AccountLine[]> {
      const rows = await db.prisma.account.findMany({
        orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
        select: { id: true, email: true, name: true, role: true, organisationId: true, createdAt: true },
      })
      return rows.map(({ id, ...row }) => ({ accountId: id, ...row }))
    },
  }
}
