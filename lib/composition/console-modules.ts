import { hasMailServer } from '#lib/config/locations.ts'
import { digestEmailJob } from '#lib/domains/accounts/email-choices/digest.ts'
import { noticeJob } from '#lib/domains/accounts/notices.ts'
import { accountDirectory, countActiveAdmins, findPeople } from '#lib/domains/accounts/queries.ts'
import { newestSignIns } from '#lib/domains/accounts/repository.ts'
import { agentSummary, findAgents } from '#lib/domains/agents/queries.ts'
import { waitingProposals } from '#lib/domains/approvals/module.ts'
import { newestActsOfPeople } from '#lib/domains/audit/queries.ts'
import { consoleModule } from '#lib/domains/console/module.ts'
import type { erasureModule } from '#lib/domains/erasure/module.ts'
import {
  activeRuns,
  deletionsByWeek,
  findErasure,
  findReceipts,
  receiptsSignedSince,
} from '#lib/domains/erasure/queries.ts'
import { activeExports, exportsToFetch } from '#lib/domains/exports/queries.ts'
import { holdsEnding } from '#lib/domains/holds/queries.ts'
import { expiringSoon, findRecords, quarantined } from '#lib/domains/knowledge/queries.ts'
import { outboxModule } from '#lib/domains/outbox/module.ts'
import { requestChanges, requestTrend } from '#lib/domains/privacy-requests/queries.ts'
import { addressJob, notifyAdminJob, notifyJob } from '#lib/domains/privacy-requests/timeline.ts'
import { closingEmailJob } from '#lib/domains/projects/closing/jobs.ts'
import { participationsOf } from '#lib/domains/projects/participants/fence.ts'
import { closingSoon, findProjects } from '#lib/domains/projects/queries.ts'
import { activeSweep } from '#lib/domains/retention/queries.ts'
import { revokedByLimits, tokenNames, tokenSummary } from '#lib/domains/tokens/queries.ts'
import { failedOnce } from '#lib/jobs/undelivered.ts'
import type { Retention } from './content-modules.ts'
import type { Erasures } from './erasures.ts'
import type { Foundation } from './foundation.ts'
import type { PeopleModules } from './people-modules.ts'
import type { CollectedData } from './personal-data.ts'
import type { RequestModules } from './request-modules.ts'

/** Jobs whose failure the console reports as an undelivered email. */
const emailJobs = [noticeJob, notifyJob, addressJob, notifyAdminJob, digestEmailJob]

/** The modules that the console asks. */
export interface ConsoleSources {
  erasure: ReturnType<typeof erasureModule>
  requests: RequestModules
  retention: Retention
}

export const composeConsole = (
  { assessedLocations, db, env, mail }: Foundation,
  { dataSources }: CollectedData,
  { engine }: Erasures,
  { erasure, requests, retention }: ConsoleSources,
) =>
  consoleModule({
    dataSources,
    accounts: {
      newestSignIns: (account, sessionId) => newestSignIns(db, { account, current: sessionId ?? '' }),
    },
    agents: { summary: (ids) => agentSummary(db, ids) },
    tokens: {
      summary: (ids, span) => tokenSummary(db, ids, span),
      revokedByLimits: (since) => revokedByLimits(db, since),
    },
    requests: {
      ...requests.useCases.requests,
      trend: (now, weeks) => requestTrend(db, now, weeks),
      changes: (since) => requestChanges(db, since),
    },
    erasures: { active: (whose) => activeRuns(db, whose), open: engine.runs.open },
    receipts: {
      ...erasure.receipts,
      signedSince: (since) => receiptsSignedSince(db, since),
      byWeek: (now, weeks) => deletionsByWeek(db, now, weeks),
    },
    activity: {
      newest: (now, most) =>
        newestActsOfPeople(
          {
            db,
            peopleMatching: accountDirectory.matching,
            requestSubjects: requests.useCases.requests.subjectNames,
            tokenNames,
          },
          now,
          most,
        ),
    },
    setup: {
      settings: {
        hasMailServer: hasMailServer(env),
        hasContact: env.KP_PRIVACY_EMAIL !== undefined,
        statesBackups: env.KP_BACKUP_DAYS !== undefined,
        unknownRegions: assessedLocations.filter(({ region }) => region === null).length,
        hasIdentityProvider: env.KP_OIDC_ISSUER !== undefined,
      },
      admins: () => countActiveAdmins(db),
    },
    exports: {
      active: (accountId, now) => activeExports(db, accountId, now),
      toFetch: (accountId, now) => exportsToFetch(db, accountId, now),
    },
    knowledge: {
      expiringSoon: async (owner, span) => expiringSoon(db, owner, await retention.periods(), span),
      quarantined: () => quarantined(db),
    },
    projects: {
      participationsOf: (accountId) => participationsOf(db.prisma, accountId),
      closingSoon: (owner, most) => closingSoon(db, owner, most),
    },
    approvals: { waitingFor: (accountId, now) => waitingProposals(db, accountId, now) },
    holds: { ending: (span) => holdsEnding(db, span) },
    retention: { active: (now) => activeSweep(db, now) },
    search: {
      people: (actor, q, most) => findPeople(db, actor, q, most),
      agents: (actor, q, most) => findAgents(db, actor, q, most),
      requests: requests.useCases.requests.find,
      receipts: (actor, id) => findReceipts(db, actor, id),
      erasure: (actor, id) => findErasure(db, actor, id),
      records: (ctx, q, most) => findRecords(db, ctx, q, most),
      projects: (ctx, q, most) => findProjects(db, ctx, q, most),
    },
    mail: {
      undelivered: () => failedOnce(db, emailJobs),
      files: async () => (hasMailServer(env) ? null : mail.folder.count()),
    },
  })

export const composeOutbox = ({ db, mail, storeLocations }: Foundation, { approvals, people }: PeopleModules) =>
  outboxModule({
    db,
    folder: mail.folder,
    delivery: storeLocations.mail,
    emailJobs: [...emailJobs, closingEmailJob],
    accountMarked: people.accountMarked,
    needsApprovals: approvals.useCases.approvals.isRequired,
  })
