import { dataFolderMark } from '#lib/config/data-folder.ts'
import { areSnapshotKeysInBucket, exportsFolder, hasMailServer, snapshotKeysFolder } from '#lib/config/locations.ts'
import { sealedPurposes, subjectPurpose } from '#lib/config/secret.ts'
import { sealedDocumentBodies, sealedDocumentTitles } from '#lib/domains/agents/life/document-seals.ts'
import { erasableAgent, ownAgent, ownAgentLocked, writableAgent } from '#lib/domains/agents/life/status.ts'
import { sealedShares } from '#lib/domains/clades/repository.ts'
import { erasedOf } from '#lib/domains/erasure/queries.ts'
import { exportFiles, exportObjects } from '#lib/domains/exports/export-files.ts'
import type { ExportChange } from '#lib/domains/exports/prepared.ts'
import { sealedEntries } from '#lib/domains/grimoire/repository.ts'
import type { ChosenIdPorts } from '#lib/domains/knowledge/chosen-ids.ts'
import { authorPseudonyms } from '#lib/domains/knowledge/erasure/suppression.ts'
import { sealedExchanges } from '#lib/domains/llm-log/repository.ts'
import { outsideNamespace } from '#lib/domains/projects/provenance/claims.ts'
import { gatheredSources } from '#lib/domains/projects/provenance/gathered-sources.ts'
import { snapshotKeyObjects, snapshotKeys } from '#lib/domains/snapshots/key-files.ts'
import type { RunChange } from '#lib/kernel/erasure-run.ts'
import { transactionalEvent } from '#lib/kernel/transactional-event.ts'
import type { openPlatform } from '#lib/platform/platform.ts'
import { requireConnectedStores } from '#lib/stores/registered-store.ts'

/** The platform, and the dependencies that several domains share. It knows no module. */
export function createFoundation(platform: ReturnType<typeof openPlatform>) {
  const { clock, db, env, keyFor, known, regions, stores } = platform
  const chosenIds: ChosenIdPorts = { outsideNamespace, erasedOf }
  const exportChanges = transactionalEvent<ExportChange>()
  const noteExports = (isPut: boolean) => known.used('exports', isPut)
  const exported = stores.files
    ? exportObjects(stores.files, noteExports)
    : exportFiles(exportsFolder(env), noteExports)
  const keyStorage = {
    used: () => known.used('snapshot_keys'),
    whatIsMissing: known.missing('snapshot_keys'),
  }
  return {
    ...platform,
    strict: env.KP_SANITIZER_STRICT,
    chosenIds,
    keys: {
      grimoire: keyFor(sealedPurposes.grimoire),
      documents: { title: keyFor(sealedPurposes.documentTitles), body: keyFor(sealedPurposes.documentBodies) },
      clades: keyFor(sealedPurposes.clades),
      llmLog: keyFor(sealedPurposes.llmLog),
      subject: keyFor(subjectPurpose),
    },
    sealedVersions: [
      { ...sealedDocumentTitles, field: 'title' },
      { ...sealedDocumentBodies, field: 'body' },
      { ...sealedEntries, field: 'entry' },
      { ...sealedShares, field: 'entry' },
      { ...sealedExchanges, field: 'exchange' },
    ].map((column) => ({ ...column, key: keyFor(column.purpose) })),
    pseudonymOf: authorPseudonyms(keyFor('pseudonyms')),
    sources: gatheredSources({ namesOf: platform.namesOf, isBorneByOthers: platform.heldNames.isBorneByOthers }),
    /** Published by the engine and by exports, which privacy requests use. Privacy requests listen to them. */
    erasureChanges: transactionalEvent<RunChange>(),
    exportChanges,
    prepared: {
      db,
      clock,
      files: {
        ...exported,
        async check() {
          await exported.check()
          await requireConnectedStores(known.missing('exports'))
        },
      },
      whatIsMissing: known.missing('exports'),
      onExport: exportChanges.publish,
    },
    snapshotStorage: {
      db,
      objects: stores.objects,
      keys:
        stores.files && areSnapshotKeysInBucket(env)
          ? snapshotKeyObjects({ ...keyStorage, store: stores.files })
          : snapshotKeys({ ...keyStorage, folder: snapshotKeysFolder(env) }),
    },
    ownAgents: {
      own: (actor: Parameters<typeof ownAgent>[1], id: string) => ownAgent(db, actor, id),
      locked: ownAgentLocked,
      erasable: erasableAgent,
      writable: writableAgent(regions),
    },
    facts: {
      backupDays: env.KP_BACKUP_DAYS,
      requestsYears: env.KP_REQUESTS_YEARS,
      emailsInFolder: !hasMailServer(env),
    },
    // A copy of the database has the same name for the bucket but a different data folder.
    installation: async () =>
      stores.objects.provider === 'files'
        ? known.idOf('objects')
        : `${await known.idOf('objects')} ${await dataFolderMark(env.KP_DATA_DIR)}`,
  }
}
export type Foundation = ReturnType<typeof createFoundation>
