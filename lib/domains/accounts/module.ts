import { type Env, openIdProvider } from '#lib/config/env.ts'
import { sealedPurposes } from '#lib/config/secret.ts'
import { agentsOfAccount } from '#lib/domains/agents/queries.ts'
import type { MutationContext } from '#lib/kernel/context.ts'
import type { PersonalData } from '#lib/kernel/module.ts'
import type { MailPort } from '#lib/stores/mail/mail.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { digestEmailJob, optionalEmails, unsubscribeLinks } from './email-choices/service.ts'
import { accountsJobs } from './jobs.ts'
import type { Tries } from './passwords.ts'
import {
  accountDataSource,
  accountExporters,
  emailChoiceDataSource,
  factorDataSource,
  identityDataSource,
  linkDataSource,
  readNoticeDataSource,
  recoveryCodeDataSource,
  sessionDataSource,
  signInDataSource,
} from './personal-data.ts'
import type { AccountsDeps } from './ports.ts'
import { createChallenges } from './second-factors/passkeys.ts'
import { factorPolicySetting } from './second-factors/requirement.ts'
import { accountsService } from './service.ts'
import { noticeJob } from './writes.ts'

export const accountsData = (db: Database): PersonalData => ({
  dataSources: [
    sessionDataSource(db),
    signInDataSource(db),
    linkDataSource(db),
    factorDataSource(db),
    recoveryCodeDataSource(db),
    emailChoiceDataSource(db),
    readNoticeDataSource(db),
    identityDataSource(db),
    accountDataSource(db),
  ],
  personExporters: accountExporters(db),
})

/** What accounts take from the platform by name, and what other modules give them. */
interface AccountsModuleParts extends Pick<AccountsDeps, 'pipeline' | 'requireApproval' | 'destroyTelemetryKeys'> {
  db: Database
  env: Env
  keyFor(purpose: string): () => Uint8Array
  limiter: Tries
  mail: MailPort
  origin: string
  networks: { limitKeyOf(address: string): string }
  suppressed: { lift: AccountsDeps['unsuppress'] }
  tokens: {
    revokeScoped(
      ctx: MutationContext,
      agentIds: readonly string[],
      scope: 'admin',
      reason: 'owner_role' | 'owner_closed',
    ): Promise<number>
  }
}

/** People, organizations, passwords and sessions. */
export function accountsModule(parts: AccountsModuleParts) {
  const { db, env, keyFor, mail, origin, tokens } = parts
  const links = unsubscribeLinks(keyFor('unsubscribe links'))
  const emails = optionalEmails({ db, mail, origin, links })
  const accounts = accountsService(db, {
    ...parts,
    unsubscribeLinks: links,
    tries: parts.limiter,
    networkOf: parts.networks.limitKeyOf,
    markKey: keyFor('known sign-ins'),
    challenges: createChallenges(keyFor('passkey challenges')),
    totpKey: keyFor(sealedPurposes.totpSecrets),
    party: { origin },
    factorPolicy: factorPolicySetting(db),
    graceSignIn: env.KP_GRACE_SIGN_IN,
    unsuppress: parts.suppressed.lift,
    revokeAdminTokens: async (ctx, accountId, reason) =>
      tokens.revokeScoped(ctx, await agentsOfAccount(ctx.tx, accountId), 'admin', reason),
  })
  return {
    useCases: { accounts },
    jobs: accountsJobs(db, mail, { publicUrl: origin, provider: openIdProvider(env)?.name, emails }),
    emailJobs: [noticeJob, digestEmailJob],
    /** Emails that people can turn off. */
    emails,
  }
}
