import { createHmac } from 'node:crypto'
import { customerNetworkOf, limitKeyOf } from '#lib/access/client-address.ts'
import { purgeExpiredWindows } from '#lib/access/limiter-postgres.ts'
import { openIdProvider } from '#lib/config/env.ts'
import { sealedPurposes } from '#lib/config/secret.ts'
import { optionalEmails, unsubscribeLinks } from '#lib/domains/accounts/email-choices/service.ts'
import { accountsModule } from '#lib/domains/accounts/module.ts'
import { createChallenges } from '#lib/domains/accounts/second-factors/passkeys.ts'
import { agentsModule } from '#lib/domains/agents/module.ts'
import { agentsOfAccount, cladeMembers } from '#lib/domains/agents/queries.ts'
import { noticeVersion } from '#lib/domains/agents/rules.ts'
import { joinClade, leaveClade, recallOfRestricted } from '#lib/domains/clades/service.ts'
import { mergeVotes } from '#lib/domains/knowledge/votes/service.ts'
import { followAgent } from '#lib/domains/projects/service.ts'
import { settingsModule } from '#lib/domains/settings/module.ts'
import { insureRetiredAgents } from '#lib/domains/snapshots/service.ts'
import { destroyExpiredKeys } from '#lib/domains/telemetry/repository.ts'
import { tokensModule } from '#lib/domains/tokens/module.ts'
import type { RequireApproval } from '#lib/kernel/approval.ts'
import { composeApprovals, factorPolicyOf } from './approvals.ts'
import type { Foundation } from './foundation.ts'

const composeTokens = ({ db, pipeline }: Foundation, requireApproval: RequireApproval) =>
  tokensModule({
    db,
    pipeline,
    requireApproval,
    purgeWindows: () => purgeExpiredWindows(db, new Date()),
  })
type Tokens = ReturnType<typeof composeTokens>

const composeEmails = ({ db, keyFor, mail, origin }: Foundation) => {
  const links = unsubscribeLinks(keyFor('unsubscribe links'))
  return { links, ...optionalEmails({ db, mail, origin, links }) }
}
type Emails = ReturnType<typeof composeEmails>

const composeAccounts = (
  { db, env, keyFor, limiter, mail, origin, pipeline, suppressed }: Foundation,
  tokens: Tokens,
  { emails, requireApproval }: { emails: Emails; requireApproval: RequireApproval },
) =>
  accountsModule({
    emails,
    requireApproval,
    unsubscribeLinks: emails.links,
    db,
    mail,
    pipeline,
    publicUrl: origin,
    provider: openIdProvider(env)?.name,
    tries: limiter,
    markKey: keyFor('known sign-ins'),
    challenges: createChallenges(keyFor('passkey challenges')),
    totpKey: keyFor(sealedPurposes.totpSecrets),
    party: { origin },
    factorPolicy: factorPolicyOf({ db }),
    graceSignIn: env.KP_GRACE_SIGN_IN,
    unsuppress: suppressed.lift,
    destroyTelemetryKeys: (tx, now) => destroyExpiredKeys(tx, { now }),
    networkOf: limitKeyOf,
    revokeAdminTokens: async (ctx, accountId, reason) =>
      tokens.useCases.tokens.revokeScoped(ctx, await agentsOfAccount(ctx.tx, accountId), 'admin', reason),
  })
type Accounts = ReturnType<typeof composeAccounts>

function composeAgents(
  { db, env, keyFor, keys, origin, regions, strict, suppressed }: Foundation,
  tokens: Tokens,
  accounts: Accounts,
) {
  const networkKey = keyFor('networks of registrations')
  return agentsModule({
    db,
    regions,
    strict,
    documentKeys: keys.documents,
    joinClade: (tx, joining) => joinClade(tx, joining, cladeMembers),
    registration: {
      mode: env.KP_REGISTRATION,
      explicitConsent: env.KP_EXPLICIT_CONSENT,
      lawfulBasis: env.KP_LAWFUL_BASIS,
      notice: { version: noticeVersion, url: `${origin}/privacy` },
    },
    tokens: tokens.useCases.tokens,
    async ownerFound(tx, agentId, ownerId, now) {
      await mergeVotes(tx, agentId, ownerId, now)
      await followAgent(tx, agentId)
    },
    accounts: accounts.useCases.accounts,
    graceTokens: env.KP_GRACE_TOKENS,
    isSuppressed: suppressed.among,
    onRetirement: [insureRetiredAgents, (tx, retirement) => leaveClade(tx, retirement, cladeMembers)],
    onRestriction: [recallOfRestricted],
    networkMark: (address) =>
      Uint8Array.from(createHmac('sha256', networkKey()).update(customerNetworkOf(address)).digest()),
  })
}

/** The modules of people, agents and tokens. They do not need the erasure engine. */
export function createPeopleModules(foundation: Foundation) {
  const settings = settingsModule(foundation.db)
  const approvals = composeApprovals(foundation)
  const { requireApproval } = approvals.useCases.approvals
  const tokens = composeTokens(foundation, requireApproval)
  const emails = composeEmails(foundation)
  const accounts = composeAccounts(foundation, tokens, { emails, requireApproval })
  const agents = composeAgents(foundation, tokens, accounts)
  return { approvals, settings, tokens, accounts, agents, emails, people: accounts.useCases.accounts }
}
export type PeopleModules = ReturnType<typeof createPeopleModules>
