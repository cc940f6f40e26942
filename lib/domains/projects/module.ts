import type { Transaction } from '#lib/kernel/context.ts'
import type { SubjectErasures } from '#lib/kernel/erasure-run.ts'
import type { PersonExporter } from '#lib/kernel/holder.ts'
import type { PersonalData } from '#lib/kernel/module.ts'
import type { CacheStore } from '#lib/stores/cache/cache.ts'
import type { CheckpointStore } from '#lib/stores/checkpoints/checkpoints.ts'
import type { GraphStore } from '#lib/stores/graph/graph.ts'
import type { WhatIsMissing } from '#lib/stores/known-store.ts'
import type { MailPort } from '#lib/stores/mail/mail.ts'
import type { ObjectStore } from '#lib/stores/objects/objects.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { cacheHolder } from './cache/holder.ts'
import { cacheEvidence, limitLifetimes } from './cache/lifetimes.ts'
import { type CheckpointsHolderParts, checkpointsHolder } from './checkpoints/holder.ts'
import { type ThreadDecisionPorts, threadDecisions } from './checkpoints/thread-decisions.ts'
import { threadsHolder } from './checkpoints/threads-holder.ts'
import { projectJobs } from './closing/jobs.ts'
import { partErasures } from './erasing/service.ts'
import { participantExporters, projectExporters, projectPersonExporters } from './exporters.ts'
import { graphExporters, graphParticipantExporters, graphPersonExporters } from './graph/exporters.ts'
import { type GraphHolderParts, graphHolder } from './graph/holder.ts'
import { objectsHolder } from './objects/holder.ts'
import { participantHolder } from './participants/holder.ts'
import type { ProjectPorts } from './ports.ts'
import type { ExportShapes } from './project-export.ts'
import { documentHolder, messageHolder } from './rows/authored.ts'
import { conversationHolder, projectHolder } from './rows/containers.ts'
import { outsidePointerHolder } from './rows/outside-pointers.ts'
import { type PseudonymOf, projectReferencesHolder } from './rows/references-held.ts'
import { memberHolder } from './rows/taking-part.ts'
import { projectsService } from './service.ts'

export interface ProjectsDataDeps
  extends Pick<GraphHolderParts, 'namesOf' | 'sources'>,
    Pick<CheckpointsHolderParts, 'moveItems'> {
  db: Database
  stores: { cache: CacheStore; checkpoints: CheckpointStore; graph: GraphStore; objects: ObjectStore }
  /** How a data source learns that a store that it used is no longer connected. */
  missing(store: 'cache' | 'checkpoints' | 'graph' | 'objects'): WhatIsMissing
  /** Prefixes of cache and object keys that only this installation uses. */
  pointerPrefixes: readonly string[]
  pseudonymOf: PseudonymOf
  /** Withdraws stored idempotent responses that contain the ids. */
  withdrawNaming(tx: Transaction, ids: readonly string[]): Promise<unknown>
}

/** Rows are erased after the data derived from them, and projects after their contents. */
export const projectsData = ({ db, stores, missing, ...deps }: ProjectsDataDeps): PersonalData => ({
  dataSources: [
    cacheHolder({ ...deps, db, cache: stores.cache, whatIsMissing: missing('cache') }),
    graphHolder({ ...deps, db, graph: stores.graph, whatIsMissing: missing('graph') }),
    objectsHolder({ ...deps, db, objects: stores.objects, whatIsMissing: missing('objects') }),
    outsidePointerHolder(db),
    // Before the messages, through which derived data is found.
    documentHolder(db, deps),
    messageHolder(db, deps),
    conversationHolder(db, deps),
    memberHolder(db),
    participantHolder(db),
    projectHolder(db, deps),
    projectReferencesHolder(db, deps),
    checkpointsHolder({ ...deps, db, store: stores.checkpoints, whatIsMissing: missing('checkpoints') }),
    threadsHolder({ db, store: stores.checkpoints }),
  ],
  exporters: [...projectExporters(db), ...graphExporters(db, stores.graph)],
  personExporters: [...projectPersonExporters(db), ...graphPersonExporters(db, stores.graph)],
})

export interface ProjectsDeps
  extends ProjectPorts,
    ExportShapes,
    Pick<ThreadDecisionPorts, 'replaceItems' | 'itemsBeginning'> {
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
