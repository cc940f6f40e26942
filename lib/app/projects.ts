import { itemsBeginning, moveItems, replaceItems } from '#lib/domains/erasure/planned-items.ts'
import { withdrawNaming } from '#lib/domains/idempotency/holders.ts'
import { cacheHolder } from '#lib/domains/projects/cache/holder.ts'
import { limitLifetimes } from '#lib/domains/projects/cache/lifetimes.ts'
import { checkpointsHolder } from '#lib/domains/projects/checkpoints/holder.ts'
import { threadDecisions } from '#lib/domains/projects/checkpoints/thread-decisions.ts'
import { threadsHolder } from '#lib/domains/projects/checkpoints/threads-holder.ts'
import { projectJobs } from '#lib/domains/projects/closing/jobs.ts'
import { partErasures } from '#lib/domains/projects/erasing/service.ts'
import { projectExporters, projectPersonExporters } from '#lib/domains/projects/exporters.ts'
import { graphExporters, graphPersonExporters } from '#lib/domains/projects/graph/exporters.ts'
import { graphHolder } from '#lib/domains/projects/graph/holder.ts'
import { objectsHolder } from '#lib/domains/projects/objects/holder.ts'
import { participantHolder } from '#lib/domains/projects/participants/holder.ts'
import { documentHolder, messageHolder } from '#lib/domains/projects/rows/authored.ts'
import { conversationHolder, projectHolder } from '#lib/domains/projects/rows/containers.ts'
import { outsidePointerHolder } from '#lib/domains/projects/rows/outside-pointers.ts'
import { projectReferencesHolder } from '#lib/domains/projects/rows/references-held.ts'
import { memberHolder } from '#lib/domains/projects/rows/taking-part.ts'
import type { Domain, Parts } from './domain.ts'

/** Messages and documents of projects, and data derived from them in connected stores. */
export function projectsAndWhatCameOfThem(parts: Parts) {
  const { db, engine, env, patience, known, mail, namesOf, projectPorts, projects, pseudonymOf, sources, stores } =
    parts
  return {
    // Rows are erased after everything derived from them, and projects after their contents.
    projects: {
      offers: projects,
      jobs: [
        ...projectJobs(projectPorts, mail),
        ...(env.KP_CACHE_TTL_LIMIT
          ? [limitLifetimes({ db, cache: stores.cache, prefixes: projectPorts.pointerPrefixes })]
          : []),
      ],
      exporters: [...projectExporters(db), ...graphExporters(db, stores.graph)],
      personExporters: [...projectPersonExporters(db), ...graphPersonExporters(db, stores.graph)],
      holders: [
        cacheHolder({
          ...{ db, cache: stores.cache, sources, whatIsMissing: known.missing('cache') },
          pointerPrefixes: projectPorts.pointerPrefixes,
        }),
        graphHolder({
          db,
          graph: stores.graph,
          sources,
          whatIsMissing: known.missing('graph'),
          namesOf,
        }),
        objectsHolder({
          ...{ db, objects: stores.objects, sources, whatIsMissing: known.missing('objects') },
          pointerPrefixes: projectPorts.pointerPrefixes,
        }),
        outsidePointerHolder(db),
        // Before the messages, through which derived data is found.
        documentHolder(db, { withdrawNaming }),
        messageHolder(db, { withdrawNaming }),
        conversationHolder(db, { withdrawNaming }),
        memberHolder(db),
        participantHolder(db),
        projectHolder(db, { withdrawNaming }),
        projectReferencesHolder(db, { pseudonymOf }),
      ],
    },
    checkpoints: {
      offers: threadDecisions({ db, erasures: engine, replaceItems, itemsBeginning }),
      holders: [
        checkpointsHolder({
          db,
          store: stores.checkpoints,
          sources,
          whatIsMissing: known.missing('checkpoints'),
          moveItems,
        }),
        threadsHolder({ db, store: stores.checkpoints }),
      ],
    },
    erasing: {
      offers: partErasures({
        erasures: engine,
        complete: engine.complete,
        ...(patience.erasure !== undefined && { patience: patience.erasure }),
      }),
    },
  } satisfies Record<string, Domain>
}
