import { storeLocationNamed } from '#lib/config/location-names.ts'
import { erasedSubjects } from '#lib/domains/erasure/queries.ts'
import { receiptFinder } from '#lib/domains/erasure/receipts/service.ts'
import { zipArchive } from '#lib/domains/exports/archive.ts'
import { exportsModule } from '#lib/domains/exports/module.ts'
import { schemaVersion } from '#lib/domains/exports/rules.ts'
import { heldVersionParticipantExporters } from '#lib/domains/holds/personal-data.ts'
import { skillImporter, unitImporter } from '#lib/domains/knowledge/imports.ts'
import { knowledgeModule } from '#lib/domains/knowledge/module.ts'
import { requestParticipantExporters } from '#lib/domains/privacy-requests/personal-data.ts'
import { projectsModule } from '#lib/domains/projects/module.ts'
import { foreignEpisodes } from '#lib/domains/projects/queries.ts'
import { retentionModule } from '#lib/domains/retention/module.ts'
import type { RetentionStores } from '#lib/domains/retention/retention-manager.ts'
import { environmentPeriods } from './approvals.ts'
import type { Erasures } from './erasures.ts'
import type { Foundation } from './foundation.ts'
import type { PeopleModules } from './people-modules.ts'
import type { CollectedData } from './personal-data.ts'

export const composeRetention = (
  foundation: Foundation,
  stores: RetentionStores,
  { approvals }: Pick<PeopleModules, 'approvals'>,
) =>
  retentionModule({
    stores,
    environment: environmentPeriods(foundation),
    requireApproval: approvals.useCases.approvals.requireApproval,
  })
export type Retention = ReturnType<typeof composeRetention>

export const composeKnowledge = (
  { chosenIds, db, env, keyFor, ledger, pseudonymOf, recognise, strict }: Foundation,
  { engine }: Erasures,
  { periods }: Retention,
) =>
  knowledgeModule({
    db,
    chosenIds,
    strict,
    pseudonymOf,
    periods,
    erasures: { ...engine.records, receiptFor: receiptFinder(db) },
    networkKey: keyFor('report networks'),
    names: recognise,
    erasedSubject: erasedSubjects({ ledger, backupDays: env.KP_BACKUP_DAYS }),
    appendToLedger: (id, holder, items) => ledger.append({ kind: 'items', id, holder, items }),
  })

/** `patience` is the number of milliseconds that a request waits for the erasure that it began. */
export const composeProjects = (
  { db, env, installation, mail, origin, regions, sealedVersions, stores, suppressed }: Foundation,
  { engine }: Erasures,
  patience: number | undefined,
) =>
  projectsModule({
    db,
    stores,
    mail,
    regions,
    installation,
    origin,
    patience,
    objects: stores.objects,
    stored: stores,
    isSuppressed: suppressed.among,
    erasures: engine.runs,
    complete: engine.runs.complete,
    pointerPrefixes: env.KP_POINTER_PREFIXES,
    limitsLifetimes: env.KP_CACHE_TTL_LIMIT,
    withCheckpoints: (tx, threads) => stores.checkpoints.present(threads, tx),
    foreignEpisodes: foreignEpisodes(stores.graph),
    hasEpisodes: async (tx, group) => (await stores.graph.episodes(group, '', 1, tx)).length > 0,
    participantExporters: [
      ...requestParticipantExporters(db),
      ...heldVersionParticipantExporters({ db, sealed: sealedVersions }),
    ],
    shapes: { schemaVersion, zip: (head, parts, given) => zipArchive(head, parts, { given }) },
  })
export type ProjectsModule = ReturnType<typeof composeProjects>

export const composeExports = (
  { assessedLocations, chosenIds, erasedAgents, prepared, storeLocations, strict }: Foundation,
  { dataSources, exporters, personExporters, retainedRecords }: CollectedData,
) =>
  exportsModule({
    ...prepared,
    exporters,
    personExporters,
    dataSources,
    retainedRecords,
    erasedAgents,
    placeOf: (store) => storeLocationNamed(storeLocations, store, assessedLocations),
    importers: [unitImporter({ strict, chosenIds, erasedAgents }), skillImporter({ strict, chosenIds })],
  })
export type ExportsModule = ReturnType<typeof composeExports>
