import { organisationOf } from '#lib/domains/accounts/person-exporters.ts'
import { ownedAgents } from '#lib/domains/agents/owned.ts'
import { agentOf } from '#lib/domains/agents/rows.ts'
import { auditExporters, auditPersonExporters } from '#lib/domains/audit/exporters.ts'
import { savedSearchHolder } from '#lib/domains/audit/holders.ts'
import { auditJobs } from '#lib/domains/audit/jobs.ts'
import { auditKept } from '#lib/domains/audit/kept.ts'
import { auditService } from '#lib/domains/audit/service.ts'
import { erasureExporters } from '#lib/domains/erasure/exporters.ts'
import { formerOwnerHolder } from '#lib/domains/erasure/holders.ts'
import { erasureJobs } from '#lib/domains/erasure/jobs.ts'
import { erasureKept } from '#lib/domains/erasure/kept.ts'
import { erasurePersonExporters, erasureRunExporters } from '#lib/domains/erasure/person-exporters.ts'
import { receiptPdfReader } from '#lib/domains/erasure/receipt-pdf.ts'
import { exportExporters } from '#lib/domains/exports/exporters.ts'
import { exportFilesHolder, exportRunsHolder } from '#lib/domains/exports/holders.ts'
import { exportJobs } from '#lib/domains/exports/jobs.ts'
import { exportPersonExporters } from '#lib/domains/exports/person-exporters.ts'
import { preparation } from '#lib/domains/exports/preparation.ts'
import { exportUpkeep } from '#lib/domains/exports/upkeep.ts'
import { holdsKept } from '#lib/domains/holds/kept.ts'
import { holdsService } from '#lib/domains/holds/service.ts'
import { isStored } from '#lib/domains/knowledge/held.ts'
import { requestExporters, requestPersonExporters } from '#lib/domains/privacy-requests/exporters.ts'
import { requestHolder } from '#lib/domains/privacy-requests/holders.ts'
import { privacyRequestsJobs } from '#lib/domains/privacy-requests/service.ts'
import { isProject } from '#lib/domains/projects/erasing/parts.ts'
import { recordedOf } from '#lib/domains/projects/erasing/recorded.ts'
import { retentionJobs } from '#lib/domains/retention/jobs.ts'
import { retentionKept } from '#lib/domains/retention/kept.ts'
import { letterHolder } from '#lib/stores/mail/letters-held.ts'
import type { Domain, Parts } from './domain.ts'

/** Accountability: the audit log, receipts, exports, retention, holds, privacy requests and their emails. */
export function rights(parts: Parts) {
  const {
    accounts,
    clock,
    db,
    engine,
    env,
    erasures,
    exported,
    exporters,
    log,
    mail,
    personExporters,
    prepared,
    privacy,
    receipts,
    requests,
    retention,
  } = parts
  return {
    audit: {
      offers: auditService(db),
      jobs: auditJobs(db, log),
      exporters: auditExporters(db),
      personExporters: auditPersonExporters(db),
      holders: [savedSearchHolder(db)],
      kept: auditKept(db),
    },
    receipts: {
      offers: {
        ...erasures.receipts,
        pdf: receiptPdfReader(erasures.receipts.read),
        own: receipts.list,
        standing: receipts.standing,
      },
      jobs: erasureJobs(erasures, engine),
      exporters: [...erasureExporters(db), ...erasureRunExporters(db)],
      personExporters: erasurePersonExporters(db),
      holders: [formerOwnerHolder(db)],
      kept: erasureKept(db),
    },
    exports: {
      offers: exported,
      jobs: exportJobs(
        preparation({
          ...prepared,
          clock,
          exporters,
          personExporters,
          personOf: async (accountId) => {
            const organisationId = await organisationOf(db)(accountId)
            if (organisationId === undefined) return undefined
            return { organisationId, agents: await ownedAgents(db)(accountId) }
          },
        }),
        exportUpkeep(prepared),
      ),
      exporters: exportExporters(db),
      personExporters: exportPersonExporters(db),
      holders: [exportFilesHolder({ ...prepared, clock, recordedOf }), exportRunsHolder(db)],
    },
    retention: { offers: retention, jobs: retentionJobs(retention), kept: retentionKept(db) },
    holds: {
      offers: holdsService({
        db,
        strict: env.KP_SANITIZER_STRICT,
        exists: async (tx, kind, id) => {
          if (kind === 'account') return (await accounts.byId(tx, id)) !== undefined
          if (kind === 'project') return isProject(tx, id)
          return kind === 'agent' ? (await agentOf(tx, id)) !== null : await isStored(tx, kind, id)
        },
        onReleased: engine.resumeHeld,
      }),
      kept: holdsKept(db),
    },
    mail: {
      offers: {},
      holders: [
        letterHolder({
          folder: mail.folder,
          addressOf: async (id, tx = db.prisma) => (await accounts.contactOf(tx, id))?.email,
        }),
      ],
    },
    requests: {
      offers: requests,
      jobs: privacyRequestsJobs(privacy, mail),
      exporters: requestExporters(db),
      personExporters: requestPersonExporters(db),
      holders: [requestHolder(privacy)],
    },
  } satisfies Record<string, Domain>
}
