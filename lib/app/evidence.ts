import { join } from 'node:path'
import { agentsEvidence } from '#lib/domains/agents/evidence.ts'
import { agentsInRegions } from '#lib/domains/agents/in-region.ts'
import { lifeEvidence } from '#lib/domains/agents/life/evidence.ts'
import { auditEvidence, usesOf } from '#lib/domains/audit/evidence.ts'
import { cladesEvidence } from '#lib/domains/clades/evidence.ts'
import { type CoverageParts, coverageChecks } from '#lib/domains/compliance/coverage-checks.ts'
import { installationChecks } from '#lib/domains/compliance/installation-checks.ts'
import { erasureEvidence } from '#lib/domains/erasure/evidence.ts'
import { exportsEvidence } from '#lib/domains/exports/evidence.ts'
import { grimoireEvidence } from '#lib/domains/grimoire/evidence.ts'
import { knowledgeEvidence } from '#lib/domains/knowledge/evidence.ts'
import { llmLogEvidence } from '#lib/domains/llm-log/lateness.ts'
import { requestsEvidence } from '#lib/domains/privacy-requests/evidence.ts'
import { cacheEvidence } from '#lib/domains/projects/cache/lifetimes.ts'
import { projectsInRegions } from '#lib/domains/projects/in-region.ts'
import { residencyEvidence } from '#lib/domains/residency/evidence.ts'
import { retentionEvidence } from '#lib/domains/retention/evidence.ts'
import { periodsOf } from '#lib/domains/retention/rules.ts'
import { settingsEvidence } from '#lib/domains/settings/evidence.ts'
import { snapshotsEvidence } from '#lib/domains/snapshots/evidence.ts'
import { telemetryEvidence } from '#lib/domains/telemetry/evidence.ts'
import { tokensEvidence } from '#lib/domains/tokens/evidence.ts'
import { type Env, telemetryTarget } from '#lib/env.ts'
import type { Check } from '#lib/kernel/evidence.ts'
import { exportsFolder, snapshotKeysFolder } from '#lib/places.ts'
import type { Services } from '#lib/services.ts'
import { ledgerFolder } from '#lib/stores/ledger/ledger.ts'
import { lettersKept } from '#lib/stores/mail/letters-held.ts'

interface EvidenceParts
  extends Pick<Services, 'signer' | 'retention' | 'expiring' | 'mail' | 'places' | 'judged' | 'regions' | 'stores'>,
    Omit<CoverageParts, 'usesOf'> {
  env: Env
}

/** All checks of the compliance report, each provided by the domain responsible for it. */
export function evidenceOf({
  env,
  signer,
  retention,
  expiring,
  mail,
  places,
  judged,
  regions,
  stores,
  ...coverage
}: EvidenceParts): Check[] {
  const ledger = ledgerFolder(env)
  return [
    ...agentsEvidence(env.KP_LAWFUL_BASIS),
    ...knowledgeEvidence(),
    ...tokensEvidence(),
    ...requestsEvidence(),
    ...retentionEvidence({ expiring, periods: async () => periodsOf(await retention.policyNow()) }),
    ...llmLogEvidence(),
    ...snapshotsEvidence(),
    ...lifeEvidence(),
    cacheEvidence({ cache: stores.cache, prefixes: env.KP_POINTER_PREFIXES }),
    ...grimoireEvidence(),
    ...cladesEvidence(),
    ...telemetryEvidence(),
    ...auditEvidence(),
    ...exportsEvidence(),
    ...erasureEvidence(signer, ledger),
    ...settingsEvidence(),
    ...installationChecks({
      places,
      telemetry: telemetryTarget(env) === undefined ? 'none' : 'posthog',
      folders: [join(env.KP_DATA_DIR, 'mail'), exportsFolder(env), snapshotKeysFolder(env), ledger],
      secretFile: env.KP_SECRET === undefined ? join(env.KP_DATA_DIR, 'secret') : null,
      oldestLetter: mail.folder.oldest,
      lettersKept,
    }),
    ...residencyEvidence(env.KP_RESIDENCY, judged, regions.choosable, {
      projects: projectsInRegions,
      agents: agentsInRegions,
    }),
    ...coverageChecks({ ...coverage, usesOf }),
  ]
}
