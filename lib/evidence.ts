import { join } from 'node:path'
import { agentsEvidence } from './domains/agents/evidence.ts'
import { agentsInEu } from './domains/agents/in-region.ts'
import { lifeEvidence } from './domains/agents/life/evidence.ts'
import { auditEvidence, usesOf } from './domains/audit/evidence.ts'
import { cladesEvidence } from './domains/clades/evidence.ts'
import { type CoverageParts, coverageChecks } from './domains/compliance/coverage-checks.ts'
import { installationChecks } from './domains/compliance/installation-checks.ts'
import { erasureEvidence } from './domains/erasure/evidence.ts'
import { exportsEvidence } from './domains/exports/evidence.ts'
import { grimoireEvidence } from './domains/grimoire/evidence.ts'
import { knowledgeEvidence } from './domains/knowledge/evidence.ts'
import { llmLogEvidence } from './domains/llm-log/lateness.ts'
import { requestsEvidence } from './domains/privacy-requests/evidence.ts'
import { projectsInEu } from './domains/projects/in-region.ts'
import { residencyEvidence } from './domains/residency/evidence.ts'
import { retentionEvidence } from './domains/retention/evidence.ts'
import { periodsOf } from './domains/retention/rules.ts'
import { settingsEvidence } from './domains/settings/evidence.ts'
import { snapshotsEvidence } from './domains/snapshots/evidence.ts'
import { telemetryEvidence } from './domains/telemetry/evidence.ts'
import { tokensEvidence } from './domains/tokens/evidence.ts'
import { type Env, telemetryTarget } from './env.ts'
import type { Check } from './kernel/evidence.ts'
import { snapshotKeysFolder } from './places.ts'
import type { Services } from './services.ts'
import { ledgerFolder } from './stores/ledger/ledger.ts'
import { lettersKept } from './stores/mail/letters-held.ts'

interface EvidenceParts
  extends Pick<Services, 'signer' | 'retention' | 'expiring' | 'mail' | 'places' | 'judged'>,
    Omit<CoverageParts, 'usesOf'> {
  env: Env
}

/** Every question whose answer shows that a promise holds, each asked by the domain whose it is. */
export function evidenceOf({
  env,
  signer,
  retention,
  expiring,
  mail,
  places,
  judged,
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
      folders: [...['mail', 'exports'].map((name) => join(env.KP_DATA_DIR, name)), snapshotKeysFolder(env), ledger],
      secretFile: env.KP_SECRET === undefined ? join(env.KP_DATA_DIR, 'secret') : null,
      oldestLetter: mail.folder.oldest,
      lettersKept,
    }),
    ...residencyEvidence(env.KP_RESIDENCY, judged, projectsInEu, agentsInEu),
    ...coverageChecks({ ...coverage, usesOf }),
  ]
}
