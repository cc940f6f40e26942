import { noticeJob } from '#lib/domains/accounts/notices.ts'
import { agentIdsInRegions, agentsInRegions } from '#lib/domains/agents/in-region.ts'
import { complianceService } from '#lib/domains/compliance/service.ts'
import { consoleService } from '#lib/domains/console/service.ts'
import { idempotencyHolder } from '#lib/domains/idempotency/holders.ts'
import { idempotencyJobs } from '#lib/domains/idempotency/jobs.ts'
import { outboxService } from '#lib/domains/outbox/service.ts'
import { piiService } from '#lib/domains/pii/service.ts'
import { addressJob, notifyJob, tellAdminJob } from '#lib/domains/privacy-requests/timeline.ts'
import { letterJob } from '#lib/domains/projects/closing/jobs.ts'
import { idsInRegions, projectsInRegions } from '#lib/domains/projects/in-region.ts'
import { fulfilledRegions } from '#lib/domains/residency/rules.ts'
import { storesKept } from '#lib/domains/stores/kept.ts'
import { storesService } from '#lib/domains/stores/service.ts'
import { telemetryExporters, telemetryPersonExporters } from '#lib/domains/telemetry/exporters.ts'
import { telemetryKeyHolder } from '#lib/domains/telemetry/holders.ts'
import { telemetryJobs } from '#lib/domains/telemetry/jobs.ts'
import { telemetryService } from '#lib/domains/telemetry/service.ts'
import { queueHolder } from '#lib/jobs/holders.ts'
import { queueJobs } from '#lib/jobs/upkeep.ts'
import type { OperationShape } from '#lib/kernel/operation.ts'
import { judgedSites } from '#lib/places.ts'
import { consolePorts } from './console-ports.ts'
import type { Domain, Parts } from './domain.ts'
import { evidenceOf } from './evidence.ts'

/** Operation of the installation. `operations` returns all operations; it is called after everything is connected. */
export function installation(parts: Parts, operations: () => readonly OperationShape[]) {
  const {
    accounts,
    db,
    env,
    expiring,
    holders,
    judged,
    kept,
    known,
    mail,
    places,
    query,
    recognise,
    regions,
    retention,
    signer,
    sites,
    stateOf,
    stores,
    telemetry,
    telemetryKey,
    telemetryTo,
  } = parts
  const fulfilled = fulfilledRegions(judged, regions.choosable)
  return {
    console: { offers: consoleService(consolePorts({ ...parts, hasMailServer: env.KP_SMTP_URL !== undefined })) },
    outbox: {
      offers: outboxService({
        db,
        folder: mail.folder,
        delivery: places.mail,
        letterJobs: [noticeJob, notifyJob, addressJob, tellAdminJob, letterJob],
        accountMarked: accounts.accountMarked,
      }),
    },
    pii: { offers: piiService({ recognise }) },
    residency: {
      offers: storesService({
        db,
        known,
        residency: env.KP_RESIDENCY ?? null,
        sites: judgedSites(sites, judged),
        stateOf,
        lettersInFolder: places.mail === 'folder',
        projectsOutside: async (most) => ({
          total: await projectsInRegions(query, fulfilled),
          ids: await idsInRegions(query, fulfilled, most),
        }),
        agentsOutside: async (most) => ({
          total: await agentsInRegions(query, fulfilled),
          ids: await agentIdsInRegions(query, fulfilled, most),
        }),
        strict: env.KP_SANITIZER_STRICT,
      }),
      kept: storesKept(db),
    },
    compliance: {
      offers: complianceService({
        db,
        checks: evidenceOf({
          env,
          signer,
          retention,
          expiring,
          mail,
          places,
          judged,
          regions,
          stores,
          holders: () => holders,
          kept: () => kept,
          operations,
        }),
      }),
    },
    telemetry: {
      offers: telemetryService({
        to: telemetryTo && {
          host: new URL(telemetryTo.host).host,
          region: judged.find(({ name }) => name === 'posthog')?.region ?? null,
        },
      }),
      jobs: telemetryJobs({ db, telemetry }),
      exporters: telemetryExporters(db, telemetryKey),
      personExporters: telemetryPersonExporters(db, telemetryKey),
      holders: [telemetryKeyHolder(db)],
    },
    queue: { offers: {}, jobs: queueJobs(db), holders: [queueHolder(db)] },
    idempotency: { offers: {}, jobs: idempotencyJobs(db), holders: [idempotencyHolder(db)] },
  } satisfies Record<string, Domain>
}
