import { z } from 'zod'
import { sealedPurposes } from '#lib/config/secret.ts'
import { StoredFactorPolicy } from '#lib/domains/accounts/second-factors/contract.ts'
import type { FactorPolicy } from '#lib/domains/accounts/second-factors/rules.ts'
import { accountApprovables } from '#lib/domains/accounts/users.ts'
import { changeApprovalSetting } from '#lib/domains/approvals/contract.ts'
import { approvalsModule } from '#lib/domains/approvals/module.ts'
import { holdApprovables } from '#lib/domains/holds/service.ts'
import { requestApprovables } from '#lib/domains/privacy-requests/queue/service.ts'
import { projectOfParticipant } from '#lib/domains/projects/participants/acting.ts'
import { policyReader, retentionApprovables } from '#lib/domains/retention/service.ts'
import { storedSetting } from '#lib/domains/settings/service.ts'
import { storeApprovables } from '#lib/domains/stores/service.ts'
import { tokenApprovables } from '#lib/domains/tokens/lifecycle.ts'
import { approvable } from '#lib/kernel/approval.ts'
import type { Foundation } from './foundation.ts'

/** The setting that says who must have a second factor. */
export const factorPolicyOf = ({ db }: Pick<Foundation, 'db'>) =>
  storedSetting<FactorPolicy>(db, {
    name: 'second_factors',
    schema: StoredFactorPolicy,
    fallback: { required_of: 'nobody', from: null },
  })

/** The periods of the environment. */
export const environmentPeriods = ({ env }: Pick<Foundation, 'env'>) => ({
  network: env.KP_RETENTION_NETWORK_DAYS,
  org: env.KP_RETENTION_ORG_DAYS,
  private: env.KP_RETENTION_PRIVATE_DAYS,
})

/** Approvals by a second admin, with the actions of all domains that can need one. */
export function composeApprovals(foundation: Foundation) {
  const { db, clock, keyFor } = foundation
  const environment = environmentPeriods(foundation)
  return approvalsModule({
    db,
    key: keyFor(sealedPurposes.proposals),
    setting: storedSetting(db, { name: 'two_person_approval', schema: z.boolean(), fallback: false }),
    approvables: [
      ...accountApprovables(factorPolicyOf(foundation)),
      ...holdApprovables(),
      ...retentionApprovables(policyReader({ db, clock }, environment), environment),
      ...tokenApprovables(),
      ...storeApprovables,
      ...requestApprovables(projectOfParticipant),
      approvable(changeApprovalSetting, async (_tx, { body }) => ({ facts: { is_on: body.is_on } })),
    ],
  })
}
