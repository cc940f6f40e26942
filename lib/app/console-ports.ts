import { newestSignIns } from '#lib/domains/accounts/newest-sign-ins.ts'
import { noticeJob } from '#lib/domains/accounts/notices.ts'
import { agentsAtAGlance } from '#lib/domains/agents/at-a-glance.ts'
import type { ConsolePorts } from '#lib/domains/console/ports.ts'
import { runsUnderWay } from '#lib/domains/erasure/under-way.ts'
import { exportsToFetch, exportsUnderWay } from '#lib/domains/exports/under-way.ts'
import { holdsEnding } from '#lib/domains/holds/ending.ts'
import { expiringSoon } from '#lib/domains/knowledge/expiring-soon.ts'
import { quarantined } from '#lib/domains/knowledge/quarantine-count.ts'
import { addressJob, notifyJob, tellAdminJob } from '#lib/domains/privacy-requests/timeline.ts'
import { closingSoon } from '#lib/domains/projects/closing/closing-soon.ts'
import { periodsOf } from '#lib/domains/retention/rules.ts'
import { sweepUnderWay } from '#lib/domains/retention/under-way.ts'
import { revokedByLimits, tokensAtAGlance } from '#lib/domains/tokens/at-a-glance.ts'
import { failedOnce } from '#lib/jobs/undelivered.ts'
import type { Services } from '#lib/services.ts'

const letterJobs = [noticeJob, notifyJob, addressJob, tellAdminJob]

interface Parts extends Pick<Services, 'db' | 'engine' | 'holders' | 'mail' | 'receipts' | 'requests' | 'retention'> {
  /** Whether a mail server is configured. */
  hasMailServer: boolean
}
/** Connects the console with the domains that it queries. */
export const consolePorts = ({
  db,
  engine,
  hasMailServer,
  holders,
  mail,
  receipts,
  requests,
  retention,
}: Parts): ConsolePorts => ({
  holders,
  accounts: { newestSignIns: (accountId, sessionId) => newestSignIns(db, accountId, sessionId) },
  agents: { atAGlance: (agents) => agentsAtAGlance(db, agents) },
  tokens: {
    atAGlance: (agents, span) => tokensAtAGlance(db, agents, span),
    revokedByLimits: (since) => revokedByLimits(db, since),
  },
  requests,
  erasures: { underWay: (whose) => runsUnderWay(db, whose), open: engine.open },
  receipts,
  exports: {
    underWay: (accountId, now) => exportsUnderWay(db, accountId, now),
    toFetch: (accountId, now) => exportsToFetch(db, accountId, now),
  },
  knowledge: {
    expiringSoon: async (whose, span) => expiringSoon(db, whose, periodsOf(await retention.policyNow()), span),
    quarantined: () => quarantined(db),
  },
  projects: { closingSoon: (whose, most) => closingSoon(db, whose, most) },
  holds: { ending: (span) => holdsEnding(db, span) },
  retention: { underWay: (now) => sweepUnderWay(db, now) },
  mail: {
    undelivered: () => failedOnce(db, letterJobs),
    files: async () => (hasMailServer ? null : mail.folder.count()),
  },
})
