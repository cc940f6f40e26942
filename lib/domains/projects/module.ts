import type { Env } from '#lib/config/env.ts'
import type { Context, Transaction } from '#lib/kernel/context.ts'
import type { SubjectErasures } from '#lib/kernel/erasure-run.ts'
import type { ProjectPart } from '#lib/kernel/erasure-scope.ts'
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
import { closingEmailJob, projectJobs } from './closing/service.ts'
import {
  conversationDataSource,
  type ProjectPseudonym,
  participantDataSource,
  projectDataSource,
  projectReferencesDataSource,
} from './containers/data-sources.ts'
import { answersForPart } from './erasing/parts.ts'
import { partErasures } from './erasing/service.ts'
import { participantExporters, projectExporters, projectPersonExporters } from './exporting/exporters.ts'
import type { ExportShapes } from './exporting/project-export.ts'
import { type GraphSourceDeps, graphDataSource } from './graph/data-source.ts'
import { graphExporters, graphParticipantExporters, graphPersonExporters } from './graph/exporters.ts'
import { objectsDataSource } from './objects/data-source.ts'
import {
  actedFor,
  participantsByEmail,
  projectOfParticipant,
  rectifyParticipant,
  requestedChanges,
} from './participants/acting.ts'
import { restrictParticipants, unrestrictParticipants } from './participants/restricting.ts'
import type { ProjectPorts } from './ports.ts'
import { foreignEpisodes } from './queries.ts'
import {
  documentDataSource,
  memberDataSource,
  messageDataSource,
  outsidePointerDataSource,
  quotationDataSource,
} from './rows/data-sources.ts'
import { projectsService } from './service.ts'

interface ProjectsDataParts extends Pick<GraphSourceDeps, 'namesOf' | 'heldNames' | 'sources'> {
  db: Database
  env: Pick<Env, 'KP_CACHE_INVALIDATE_PROJECT' | 'KP_POINTER_PREFIXES'>
  stores: { cache: CacheStore; checkpoints: CheckpointStore; graph: GraphStore; objects: ObjectStore }
  /** How a data source learns that a store that it used is no longer connected. */
  known: { missing(store: 'cache' | 'checkpoints' | 'graph' | 'objects'): MissingStoreData }
  pseudonymOf: ProjectPseudonym
}

/** Rows are erased after the data derived from them, and projects after their contents. */
export function projectsData({ env, known, ...parts }: ProjectsDataParts): PersonalData {
  const { db, stores, sources } = parts
  const deps = {
    ...parts,
    // Prefixes of cache and object keys that only this installation uses.
    pointerPrefixes: env.KP_POINTER_PREFIXES,
    // Whether cached values without a TTL are deleted as well.
    invalidatesProject: env.KP_CACHE_INVALIDATE_PROJECT,
  }
  return {
    dataSources: [
      cacheDataSource({ ...deps, cache: stores.cache, whatIsMissing: known.missing('cache') }),
      graphDataSource({ ...deps, graph: stores.graph, whatIsMissing: known.missing('graph') }),
      objectsDataSource({ ...deps, objects: stores.objects, whatIsMissing: known.missing('objects') }),
      outsidePointerDataSource(db),
      quotationDataSource(db, sources),
      // Before the messages, through which derived data is found.
      documentDataSource(db),
      messageDataSource(db),
      conversationDataSource(db),
      memberDataSource(db),
      participantDataSource(db),
      projectDataSource(db),
      projectReferencesDataSource(db, deps),
      checkpointsDataSource({ ...deps, store: stores.checkpoints, whatIsMissing: known.missing('checkpoints') }),
      threadsDataSource({ db, store: stores.checkpoints }),
    ],
    exporters: [...projectExporters(db), ...graphExporters(db, stores.graph)],
    personExporters: [...projectPersonExporters(db), ...graphPersonExporters(db, stores.graph)],
  }
}

/** What projects take from the platform by name, and what other modules give them. */
interface ProjectsModuleParts extends Pick<ProjectPorts, 'db' | 'installation' | 'origin' | 'regions'>, ExportShapes {
  env: Pick<Env, 'KP_CACHE_TTL_LIMIT' | 'KP_POINTER_PREFIXES'>
  stores: ProjectsDataParts['stores'] & ProjectPorts['stored']
  mail: MailPort
  suppressed: { among: ProjectPorts['isSuppressed'] }
  runs: Pick<SubjectErasures, 'begin' | 'byAudit' | 'cancel' | 'explain' | 'lock' | 'resume' | 'retry' | 'run'> & {
    /** Advances an erasure as far as possible without waiting. */
    complete(runId: string): Promise<unknown>
  }
  /** How many milliseconds a request waits for its erasure; by default 10,000. */
  patience: number | undefined
  /** Exports data of other domains about a participant. */
  participantExporters: readonly PersonExporter[]
}

/** Messages and documents of projects, and data derived from them in connected stores. */
export function projectsModule({ env, mail, patience, runs, suppressed, ...parts }: ProjectsModuleParts) {
  const { db, stores } = parts
  const { graph } = stores
  const lifetimes = { cache: stores.cache, prefixes: env.KP_POINTER_PREFIXES }
  const deps = {
    ...parts,
    erasures: runs,
    stored: stores,
    objects: stores.objects,
    isSuppressed: suppressed.among,
    pointerPrefixes: env.KP_POINTER_PREFIXES,
    withCheckpoints: (tx: Transaction, threads: readonly string[]) => stores.checkpoints.present(threads, tx),
    foreignEpisodes: foreignEpisodes(graph),
    hasEpisodes: async (tx: Transaction, group: string) => (await graph.episodes(group, '', 1, tx)).length > 0,
    participantExporters: [
      ...participantExporters(db),
      ...graphParticipantExporters(db, graph),
      ...parts.participantExporters,
    ],
  }
  const projects = projectsService(deps)
  return {
    useCases: {
      projects,
      checkpoints: threadDecisions(deps),
      erasing: partErasures({
        erasures: runs,
        complete: runs.complete,
        ...(patience !== undefined && { patience }),
      }),
    },
    jobs: [...projectJobs(deps, mail), ...(env.KP_CACHE_TTL_LIMIT ? [limitLifetimes({ db, ...lifetimes })] : [])],
    checks: [cacheEvidence(lifetimes)],
    emailJobs: [closingEmailJob],
    /** What privacy requests do for the participants of projects. */
    participants: {
      find: actedFor(db),
      byEmail: participantsByEmail,
      copyOf: projects.participantCopy,
      projectOf: projectOfParticipant,
      restrict: restrictParticipants,
      unrestrict: unrestrictParticipants,
      rectify: rectifyParticipant,
      refuseTakeover: requestedChanges,
    },
    /** Whether the caller answers for a part of a project. */
    answersForPart: (ctx: Context, part: ProjectPart) => db.transaction((tx) => answersForPart({ ...ctx, tx }, part)),
  }
}
