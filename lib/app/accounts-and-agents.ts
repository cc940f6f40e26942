import { purgeExpiredWindows } from '#lib/access/limiter-postgres.ts'
import { openIdProvider } from '#lib/config/env.ts'
import { accountsJobs } from '#lib/domains/accounts/jobs.ts'
import { enqueueNotice } from '#lib/domains/accounts/notices.ts'
import { accountExporters } from '#lib/domains/accounts/person-exporters.ts'
import { dropOrganisationIfEmpty } from '#lib/domains/accounts/service.ts'
import { agentExporters } from '#lib/domains/agents/exporters.ts'
import { agentsJobs } from '#lib/domains/agents/jobs.ts'
import { agentsKept } from '#lib/domains/agents/kept.ts'
import { lifeExporters } from '#lib/domains/agents/life/exporters.ts'
import { lifeHolders } from '#lib/domains/agents/life/holders.ts'
import { lifeJobs } from '#lib/domains/agents/life/jobs.ts'
import { agentListing } from '#lib/domains/agents/listing.ts'
import { recordDeletion } from '#lib/domains/erasure/deletion-log.ts'
import { holdsInForce } from '#lib/domains/holds/in-force.ts'
import { isOnFile } from '#lib/domains/privacy-requests/open-count.ts'
import { quotasJobs } from '#lib/domains/quotas/jobs.ts'
import { quotasService } from '#lib/domains/quotas/service.ts'
import { settingsKept } from '#lib/domains/settings/kept.ts'
import { tokenAdmin } from '#lib/domains/tokens/admin.ts'
import { tokenExporters } from '#lib/domains/tokens/exporters.ts'
import { tokensJobs } from '#lib/domains/tokens/jobs.ts'
import type { Domain, Parts } from './domain.ts'

/** People, agents, and their tokens. */
export function accountsAndAgents(parts: Parts) {
  const { accounts, agents, clock, db, env, mail, origin, settings, tokens } = parts
  return {
    accounts: {
      offers: accounts,
      jobs: accountsJobs(db, mail, {
        publicUrl: origin,
        provider: openIdProvider(env)?.name,
        isOnRecord: async (tx, accountId) =>
          (await isOnFile(tx, accountId)) ||
          (await holdsInForce.inForce(tx, { account: accountId, agents: [] }, clock.now())).account !== null,
      }),
      personExporters: accountExporters(db),
    },
    agents: {
      offers: agents,
      jobs: [...agentsJobs({ dropOrganisationIfEmpty, recordDeletion }), ...lifeJobs({ recordDeletion })],
      exporters: [...agentExporters(db), ...lifeExporters(db)],
      holders: lifeHolders(db),
      kept: agentsKept(db),
    },
    tokens: {
      offers: tokens,
      jobs: tokensJobs({ purgeWindows: () => purgeExpiredWindows(db.pool, new Date()) }),
      exporters: tokenExporters(db),
    },
    tiers: { offers: tokenAdmin(db, { agents: agentListing(db), inUse: tokens.inUse }) },
    quotas: {
      offers: quotasService(db),
      jobs: quotasJobs(db, {
        async warn(tx, organisationId, percent, now) {
          for (const accountId of await accounts.decidersOf(tx, organisationId))
            await enqueueNotice(tx, { kind: 'storage-warning', accountId, percent, at: now.toISOString() })
        },
      }),
    },
    settings: { offers: settings, kept: settingsKept(db) },
  } satisfies Record<string, Domain>
}
