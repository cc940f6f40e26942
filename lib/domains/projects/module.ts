import type { SubjectErasures } from '#lib/kernel/erasure-run.ts'
import type { PersonExporter } from '#lib/kernel/exporter.ts'
import type { PersonalData } from '#lib/kernel/module.ts'
import type { CacheStore } from '#lib/stores/cache/cache.ts'
import type { CheckpointStore } from '#lib/stores/checkpoints/checkpoints.ts'
import type { GraphStore } from '#lib/stores/graph/graph.ts'
import type { MailPort } from '#lib/stores/mail/mail.ts'
import type { ObjectStore } from '#lib/stores/objects/objects.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import type { MissingStoreData } from '#lib/stores/registered-store.ts'
import { cacheDataSource } from './cache/data-source.ts'
import { cacheEvidence, limitLifetimes } from './cache/lifetimes.ts'
import { checkpointsDataSource } from './checkpoints/data-source.ts'
import { threadDecisions, threadsDataSource } from './checkpoints/thread-decisions.ts'
import { projectJobs } from './closing/service.ts'
import {
  conversationDataSource,
  type ProjectPseudonym,
  participantDataSource,
  projectDataSource,
  projectReferencesDataSource,
} from './containers/data-sources.ts'
import { partErasures } from './erasing/service.ts'
import { participantExporters, projectExporters, projectPersonExporters } from './exporting/exporters.ts'
import type { ExportShapes } from './exporting/project-export.ts'
import { type GraphSourceDeps, graphDataSource } from './graph/data-source.ts'
import { graphExporters, graphParticipantExporters, graphPersonExporters } from './graph/exporters.ts'
import { objectsDataSource } from './objects/data-source.ts'
import type { ProjectPorts } from './ports.ts'
import {
  documentDataSource,
  memberDataSource,
  messageDataSource,
  outsidePointerDataSource,
  quotationDataSource,
} from './rows/data-sources.ts'
import { projectsService } from './service.ts'

export interface ProjectsDataDeps extends Pick<GraphSourceDeps, 'namesOf' | 'heldNames' | 'sources'> {
  db: Database
  stores: { cache: CacheStore; checkpoints: CheckpointStore; graph: GraphStore; objects: ObjectStore }
  /** How a data source learns that a store that it used is no longer connected. */
  missing(store: 'cache' | 'checkpoints' | 'graph' | 'objects'): MissingStoreData
  /** Prefixes of cache and object keys that only this installation uses. */
  pointerPrefixes: readonly string[]
  /** Whether cached values without a TTL are deleted as well. */
  invalidatesProject: boolean
  pseudonymOf: ProjectPseudonym
}

/** Rows are erased after the data derived from them, and projects after their contents. */
export const projectsData = ({ db, stores, missing, ...deps }: ProjectsDataDeps): PersonalData => ({
  dataSources: [
    cacheDataSource({ ...deps, db, cache: stores.cache, whatIsMissing: missing('cache') }),
    graphDataSource({ ...deps, db, graph: stores.graph, whatIsMissing: missing('graph') }),
    objectsDataSource({ ...deps, db, objects: stores.objects, whatIsMissing: missing('objects') }),
    outsidePointerDataSource(db),
    quotationDataSource(db, deps.sources),
    // Before the messages, through which derived data is found.
    documentDataSource(db),
    messageDataSource(db),
    conversationDataSource(db),
    memberDataSource(db),
    participantDataSource(db),
    projectDataSource(db),
    projectReferencesDataSource(db, deps),
    checkpointsDataSource({ ...deps, db, store: stores.checkpoints, whatIsMissing: missing('checkpoints') }),
    threadsDataSource({ db, store: stores.checkpoints }),
  ],
  exporters: [...projectExporters(db), ...graphExporters(db, stores.graph)],
  personExporters: [...projectPersonExporters(db), ...graphPersonExporters(db, stores.graph)],
})

export interface ProjectsDeps extends ProjectPorts, ExportShapes {
  stores: ProjectsDataDeps['stores']
  mail: MailPort
  erasures: Pick<SubjectErasures, 'begin' | 'byAudit' | 'cancel' | 'explain' | 'lock' | 'resume' | 'retry' | 'run'>
  /** Advances an erasure as far as possible without waiting. */
  complete(runId: string): Promise<unknown>
  /** How many milliseconds a request waits for its erasure; by default 10,000. */
  patience: number | undefined
  /** Exports data of other domains about a participant. */
  participantExporters: readonly PersonExporter[]
  /** Whether keys of connected applications without a short lifetime get one. */
  limitsLifetimes: boolean
}

/** Messages and documents of projects, and data derived from them in connected stores. */
export function projectsModule({ stores, mail, complete, patience, limitsLifetimes, ...deps }: ProjectsDeps) {
  const { db, erasures } = deps
  const lifetimes = { cache: stores.cache, prefixes: deps.pointerPrefixes }
  return {
    useCases: {
      projects: projectsService({
        ...deps,
        participantExporters: [
          ...participantExporters(db),
          ...graphParticipantExporters(db, stores.graph),
          ...deps.participantExporters,
        ],
      }),
      checkpoints: threadDecisions(deps),
      erasing: partErasures({ erasures, complete, ...(patience !== undefined && { patience }) }),
    },
    jobs: [...projectJobs(deps, mail), ...(limitsLifetimes ? [limitLifetimes({ db, ...lifetimes })] : [])],
    checks: [cacheEvidence(lifetimes)],
  }
}
