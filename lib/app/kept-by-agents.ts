import { lifeExporters } from '#lib/domains/agents/life/exporters.ts'
import { documentRestorer, restoreSettings } from '#lib/domains/agents/life/restoring.ts'
import { sharingAgent } from '#lib/domains/agents/life/whose.ts'
import { cladeExporters } from '#lib/domains/clades/exporters.ts'
import { cladeHolders } from '#lib/domains/clades/holders.ts'
import { cladeJobs } from '#lib/domains/clades/jobs.ts'
import { cladesService } from '#lib/domains/clades/service.ts'
import { recordDeletion } from '#lib/domains/erasure/deletion-log.ts'
import { entriesOf } from '#lib/domains/grimoire/entries.ts'
import { grimoireExporters } from '#lib/domains/grimoire/exporters.ts'
import { entryHolder, keyringHolder } from '#lib/domains/grimoire/holders.ts'
import { grimoireJobs } from '#lib/domains/grimoire/jobs.ts'
import { entryRestorer } from '#lib/domains/grimoire/restoring.ts'
import { grimoireService } from '#lib/domains/grimoire/service.ts'
import { llmLogExporters } from '#lib/domains/llm-log/exporters.ts'
import { exchangeHolder } from '#lib/domains/llm-log/holders.ts'
import { llmLogJobs } from '#lib/domains/llm-log/jobs.ts'
import { llmLogService } from '#lib/domains/llm-log/service.ts'
import { isOurs } from '#lib/domains/projects/uploads.ts'
import { snapshotExporters } from '#lib/domains/snapshots/exporters.ts'
import { snapshotHolders } from '#lib/domains/snapshots/holders.ts'
import { snapshotKeys } from '#lib/domains/snapshots/key-files.ts'
import { snapshotParts } from '#lib/domains/snapshots/parts.ts'
import type { SnapshotPorts } from '#lib/domains/snapshots/ports.ts'
import { snapshotsService } from '#lib/domains/snapshots/service.ts'
import { isSealedTo } from '#lib/domains/snapshots/terms.ts'
import { lazily } from '#lib/kernel/lazily.ts'
import { snapshotKeysFolder } from '#lib/places.ts'
import { deriveKey, sealedPurposes } from '#lib/secret.ts'
import type { Domain, Parts } from './domain.ts'

/** What agents store for themselves and for related agents, sealed. */
export function keptByAgents(parts: Parts) {
  const {
    db,
    env,
    erasedAgents,
    isOfOthers,
    known,
    namesOf,
    origin,
    ownAgents,
    projectPorts,
    recognise,
    secret,
    signer,
    stores,
  } = parts
  const grimoireKey = lazily(() => deriveKey(secret(), sealedPurposes.grimoire))
  const cladeKey = lazily(() => deriveKey(secret(), sealedPurposes.clades))
  const llmLogKey = lazily(() => deriveKey(secret(), sealedPurposes.llmLog))
  const snapshotPorts: SnapshotPorts = {
    db,
    objects: stores.objects,
    keys: snapshotKeys({
      folder: snapshotKeysFolder(env),
      used: () => known.used('snapshot_keys'),
      whatIsMissing: known.missing('snapshot_keys'),
    }),
    agents: ownAgents,
    parts: snapshotParts([...lifeExporters(db), ...grimoireExporters(db, grimoireKey)]),
    restorers: [documentRestorer({ strict: env.KP_SANITIZER_STRICT }), entryRestorer(grimoireKey)],
    restoreSettings,
    erasedAgents,
    isOfOthers,
    areObjectsOurs: () => isOurs(projectPorts),
    origin,
  }
  return {
    // Their keys are destroyed first, and their rows are deleted before the keyring with which they are sealed.
    snapshots: {
      ...snapshotsService(snapshotPorts),
      exporters: snapshotExporters(db),
      holders: snapshotHolders({ ...snapshotPorts, whatIsMissing: known.missing('objects') }),
    },
    grimoire: {
      offers: grimoireService({
        db,
        key: grimoireKey,
        agents: ownAgents,
        isSealedTo,
      }),
      jobs: grimoireJobs({ recordDeletion }),
      exporters: grimoireExporters(db, grimoireKey),
      // The keyring is erased after everything that is sealed with it.
      holders: [entryHolder(db), keyringHolder(db)],
    },
    clades: {
      offers: cladesService({
        db,
        key: cladeKey,
        // Self-hosted agents may also share here.
        agents: { ...ownAgents, writable: sharingAgent },
        entriesOf: entriesOf(grimoireKey),
        namesOf,
        recognise,
        sign: signer.attest,
        issuer: origin,
      }),
      jobs: cladeJobs({ recordDeletion }),
      exporters: cladeExporters(db, cladeKey),
      holders: cladeHolders(db),
    },
    llmLog: {
      offers: llmLogService({
        db,
        key: llmLogKey,
        recognise,
        agents: ownAgents,
      }),
      jobs: llmLogJobs({ db, recordDeletion }),
      exporters: llmLogExporters(db, llmLogKey),
      holders: [exchangeHolder(db)],
    },
  } satisfies Record<string, Domain>
}
