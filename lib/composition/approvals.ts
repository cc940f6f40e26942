import { z } from 'zod'
import { sealedPurposes } from '#lib/config/secret.ts'
import { accountDirectory, activeAdminIds } from '#lib/domains/accounts/queries.ts'
import { StoredFactorPolicy } from '#lib/domains/accounts/second-factors/contract.ts'
import type { FactorPolicy } from '#lib/domains/accounts/second-factors/rules.ts'
import { accountApprovables } from '#lib/domains/accounts/users.ts'
import { enqueueNotice } from '#lib/domains/accounts/writes.ts'
import { agentNames, agentOf } from '#lib/domains/agents/queries.ts'
import { changeApprovalSetting } from '#lib/domains/approvals/contract.ts'
import { approvalsModule } from '#lib/domains/approvals/module.ts'
import { type HeldIds, holdApprovables } from '#lib/domains/holds/service.ts'
import { sharedTitles } from '#lib/domains/knowledge/queries.ts'
import { requestApprovables } from '#lib/domains/privacy-requests/queue/service.ts'
import { projectNames } from '#lib/domains/projects/erasing/parts.ts'
import { projectOfParticipant } from '#lib/domains/projects/participants/acting.ts'
import { policyReader, retentionApprovables } from '#lib/domains/retention/service.ts'
import { storedSetting } from '#lib/domains/settings/service.ts'
import { storeApprovables } from '#lib/domains/stores/service.ts'
import { tokenApprovables } from '#lib/domains/tokens/lifecycle.ts'
import { approvable } from '#lib/kernel/approval.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { Foundation } from './foundation.ts'

/** The setting that says who must have a second factor. */
export const factorPolicyOf = ({ db }: Pick<Foundation, 'db'>) =>
  storedSetting<FactorPolicy>(db, {
    name: 'second_factors',
    schema: StoredFactorPolicy,
    fallback: { required_of: 'nobody', from: null },
  })

/** The current names of people, agents and projects, and titles of records that admins may see, by id. */
export async function heldNames(tx: Transaction, ids: HeldIds): Promise<ReadonlyMap<string, string>> {
  const [accounts, agents, projects, records] = await Promise.all([
    accountDirectory.namesOf(tx, ids.accounts),
    agentNames(tx, ids.agents),
    projectNames(tx, ids.projects),
    sharedTitles(tx, ids.records),
  ])
  return new Map([...accounts, ...agents, ...projects, ...records])
}

/** The periods of the environment. */
export const environmentPeriods = ({ env }: Pick<Foundation, 'env'>) => ({
  network: env.KP_RETENTION_NETWORK_DAYS,
  org: env.KP_RETENTION_ORG_DAYS,
  private: env.KP_RETENTION_PRIVATE_DAYS,
})

/** Approvals by a second admin, with the actions of all domains that can need one. */
export function composeApprovals(foundation: Foundation) {
  const { db, keyFor } = foundation
  const environment = environmentPeriods(foundation)
  return approvalsModule({
    db,
    key: keyFor(sealedPurposes.proposals),
    setting: storedSetting(db, { name: 'two_person_approval', schema: z.boolean(), fallback: false }),
    approvables: [
      ...accountApprovables(factorPolicyOf(foundation)),
      ...holdApprovables(heldNames),
      ...retentionApprovables(policyReader({ db }, environment), environment),
      ...tokenApprovables(async (tx, agentId) => (await agentOf(tx, agentId))?.ownerId ?? null),
      ...storeApprovables,
      ...requestApprovables(
        (tx, ids) => heldNames(tx, { accounts: ids.accounts, agents: ids.agents, projects: [], records: [] }),
        projectOfParticipant,
      ),
      approvable(changeApprovalSetting, async (_tx, { body }) => ({ facts: { is_on: body.is_on } })),
    ],
    activeAdmins: activeAdminIds,
    notify: {
      proposed: (tx, accountId, at) =>
        enqueueNotice(tx, { kind: 'approval-requested', accountId, at: at.toISOString() }),
      decided: (tx, accountId, { isApproved, at }) =>
        enqueueNotice(tx, {
          kind: 'approval-decided',
          accountId,
          at: at.toISOString(),
          decision: isApproved ? 'approved' : 'rejected',
        }),
    },
    namesOf: accountDirectory.namesOf,
  })
}
