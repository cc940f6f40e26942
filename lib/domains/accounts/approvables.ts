import { type Approvable, approvable } from '#lib/kernel/approval.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { noAccount } from './inviting.ts'
import type { FactorPolicySetting } from './second-factors/requirement.ts'
import { changeRequirement } from './second-factors/requirement-contract.ts'
import { userRow } from './user-rows.ts'
import {
  changeRole,
  deactivateUser,
  inviteUser,
  reactivateUser,
  removeUserFactors,
  sendReset,
} from './users-contract.ts'

async function userFacts(tx: Transaction, id: string) {
  const row = await userRow(tx, id)
  if (!row) throw noAccount()
  const { name, email, role, states } = row
  return { subjects: [id], facts: { name, email, role_now: role, is_closed: states.includes('deactivated') } }
}

/** Actions that decide who administers the installation, and who can sign in how. */
export const accountApprovables = (factorPolicy: Pick<FactorPolicySetting, 'read'>): readonly Approvable[] => [
  approvable(changeRole, async (tx, { params: { id }, body: { role } }) => {
    const { subjects, facts } = await userFacts(tx, id)
    return { subjects, facts: { ...facts, role_next: role } }
  }),
  approvable(
    inviteUser,
    async (_tx, { body: { name, email, role, organisation_id: given, new_organisation: made } }) => ({
      facts: { name, email, role_next: role, organization: made ?? given ?? null },
    }),
  ),
  approvable(deactivateUser, (tx, { params: { id } }) => userFacts(tx, id)),
  approvable(reactivateUser, (tx, { params: { id } }) => userFacts(tx, id)),
  approvable(sendReset, (tx, { params: { id } }) => userFacts(tx, id)),
  approvable(removeUserFactors, (tx, { params: { id } }) => userFacts(tx, id)),
  approvable(changeRequirement, async (tx, { body: { required_of: next, from } }) => ({
    facts: { required_of_now: (await factorPolicy.read(tx)).required_of, required_of_next: next, from: from ?? null },
  })),
]
