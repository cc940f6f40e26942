import { z } from 'zod'
import type { Env } from '#lib/config/env.ts'
import { accountDirectory } from '#lib/domains/accounts/queries.ts'
import type { Context, Transaction } from '#lib/kernel/context.ts'
import { requireRegion, requireStorable } from '#lib/kernel/data-regions.ts'
import type { SubjectErasures } from '#lib/kernel/erasure-run.ts'
import type { ProjectPart } from '#lib/kernel/erasure-scope.ts'
import type { EvidenceCheck } from '#lib/kernel/evidence.ts'
import type { PersonExporter } from '#lib/kernel/exporter.ts'
import { newId } from '#lib/kernel/ids.ts'
import { job, type RunnableJob } from '#lib/kernel/job.ts'
import type { PersonalData } from '#lib/kernel/module.ts'
import { pageOf, parseCursor } from '#lib/kernel/pages.ts'
import { type Issue, Problem } from '#lib/kernel/problem.ts'
import { isWithin } from '#lib/kernel/region-rules.ts'
import { scopedId, shownId } from '#lib/kernel/scoped-ids.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import type { CacheStore } from '#lib/stores/cache/cache.ts'
import type { CheckpointStore } from '#lib/stores/checkpoints/checkpoints.ts'
import type { GraphStore } from '#lib/stores/graph/graph.ts'
import type { MailPort } from '#lib/stores/mail/mail.ts'
import type { ObjectStore } from '#lib/stores/objects/objects.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import type { Queryable } from '#lib/stores/postgres/statement.ts'
import type { MissingStoreData } from '#lib/stores/registered-store.ts'
import {
  isMine,
  projectAsSeen,
  projectReaderOf,
  projectView,
  readableProject,
  requireOwner,
  seenProject,
  writableProject,
  writerOf,
} from './access.ts'
import { cacheDataSource } from './cache/data-source.ts'
import { anyHoldInForce } from './cache/repository.ts'
import { checkpointsDataSource } from './checkpoints/data-source.ts'
import { threadDecisions, threadsDataSource } from './checkpoints/thread-decisions.ts'
import { closingEmailJob, projectClosing, projectJobs } from './closing/service.ts'
import {
  addProjectMember,
  createProject,
  editProject,
  listProjectMembers,
  listProjects,
  type ProjectMember,
  readProject,
  removeProjectMember,
} from './contract.ts'
import { projectAttachments, projectConversations, projectMessages } from './conversations/service.ts'
import { projectDocuments } from './documents/service.ts'
import { answersForPart } from './erasing/parts.ts'
import { partErasures } from './erasing/service.ts'
import {
  type ExportShapes,
  graphExporters,
  graphParticipantExporters,
  graphPersonExporters,
  participantExporters,
  projectExport,
  projectExporters,
  projectPersonExporters,
} from './exporting/exporters.ts'
import { type GraphSourceDeps, graphDataSource } from './graph/data-source.ts'
import { historyImport } from './importing/service.ts'
import { pageValues } from './list-page.ts'
import { objectsDataSource } from './objects/data-source.ts'
import {
  actedFor,
  hasLostRight,
  participantsByEmail,
  projectOfParticipant,
  rectifyParticipant,
  requestedChanges,
} from './participants/acting.ts'
import { restrictedReader, restrictParticipants, unrestrictParticipants } from './participants/restricting.ts'
import { type ParticipantExports, projectParticipants } from './participants/service.ts'
import type { ProjectPorts } from './ports.ts'
import { claimGroup, claimPlaces } from './provenance/claims.ts'
import { listProvenance, reportProvenance } from './provenance/contract.ts'
import { type ConfiningPorts, confine, type ReportedPointer, store } from './provenance/pointers.ts'
import { lockSources, pointersBefore } from './provenance/repository.ts'
import { foreignEpisodes } from './queries.ts'
import {
  countListedProjects,
  findInOrganisation,
  insertProject,
  type MemberRow,
  memberOfProject,
  membersPage,
  moveProjectsOfAgent,
  projectsPage,
  regionsOfConversations,
  setMember,
} from './repository.ts'
import {
  conversationDataSource,
  documentDataSource,
  memberDataSource,
  messageDataSource,
  outsidePointerDataSource,
  type ProjectPseudonym,
  participantDataSource,
  projectDataSource,
  projectReferencesDataSource,
} from './rows/data-sources.ts'
import { quotationDataSource } from './rows/quotations.ts'

interface LifetimeDeps {
  cache: Pick<CacheStore, 'lifetimes' | 'provider'>
  prefixes: readonly string[]
}
/** Maximum number of keys that the compliance check and the job examine. */
const maxForEvidence = 100_000
const maxForJob = 5_000_000

/** Checks the 24-hour limit for cached data in entries that applications write to the same Redis without our `set`. */
const cacheEvidence = ({ cache, prefixes }: LifetimeDeps): EvidenceCheck => ({
  line: 'storage_limitation',
  name: 'cache.lifetimes',
  page: null,
  async ask() {
    const { examined, isComplete, unlimited, tooLong, prefixed } = await cache.lifetimes({
      prefixes,
      shorten: false,
      max: maxForEvidence,
    })
    const isFound = unlimited + tooLong > 0 || !isComplete
    return {
      state: cache.provider === 'memory' ? 'not_applicable' : isFound ? 'attention' : 'holds',
      numbers: { examined, unlimited, long: tooLong, prefixed, partial: isComplete ? 0 : 1 },
    }
  },
})

/**
 * Hourly job, if the operator enabled it (KP_CACHE_TTL_LIMIT). It sets no TTL while any legal hold is in force, because holds do not name
 * the keys that they cover.
 */
const limitLifetimes = ({ db, cache, prefixes }: LifetimeDeps & { db: Database }): RunnableJob =>
  job({
    name: 'cache.limit-lifetimes',
    payload: z.unknown(),
    cron: '37 * * * *',
    async run({ pipeline, actor, now }) {
      const holds = await anyHoldInForce(db, { now })
      if (holds.length > 0 || prefixes.length === 0) return
      const { shortened } = await cache.lifetimes({ prefixes, shorten: true, max: maxForJob })
      if (shortened === 0) return
      await pipeline.auditGrouped({
        action: 'update',
        actorId: actor.id,
        resourceType: 'cache',
        resourceId: 'keys',
        at: now,
        ip: '',
        details: { shortened },
      })
    },
  })

/** @throws {Problem} `conflict` if a conversation of the project requires data outside of the new region */
async function requireConversationsWithin(on: Queryable, project: string, region: string | null | undefined) {
  if (region == null) return
  const rows = await regionsOfConversations(on, { project })
  if (rows.some((row) => !isWithin(row.region, region)))
    throw new Problem(
      'conflict',
      `A conversation of this project has a region outside of ${region}. Choose a region that includes it. Nothing was changed.`,
    )
}

/** Use cases to list, create, read and edit projects. */
const ownedProjects = ({ db, regions, ...ports }: Pick<ProjectPorts, 'db' | 'regions' | 'hasEpisodes'>) => ({
  list: read(listProjects, async (ctx, { query: { all, status = null, ...query } }) => {
    const listed = { ...projectReaderOf(ctx), all, status }
    const [rows, [counted]] = await Promise.all([
      projectsPage(db, { ...listed, ...pageValues(query), now: ctx.now }),
      countListedProjects(db, listed),
    ])
    const { shown, page } = pageOf(rows, query.limit, counted?.n ?? 0, ({ created_at: at, id }) => ({ at, id }))
    return { resourceId: 'list', details: { count: shown.length }, body: { data: shown.map(projectView), ...page } }
  }),

  create: mutation(
    createProject,
    async (ctx, { body: { name, region = null, group_id, entity_kinds: entityKinds = {} } }) => {
      const { tx, actor, now } = ctx
      const writer = writerOf(actor)
      const { organisationId: organisation, id: createdBy } = actor
      if (organisation === undefined)
        throw new Problem('forbidden', 'Your account has no organization, and every project belongs to one.')
      requireRegion(regions, region, 'conflict')
      requireStorable(regions, actor.region, 'outside_region')
      const id = newId('prj')
      if (group_id !== undefined) await claimGroup(ports, tx, actor, group_id)
      const values = { id, organisation, name, group: group_id ?? id, region, entityKinds, createdBy, now }
      if ((await insertProject(tx, values)) === 0)
        throw new Problem('conflict', 'Another project has this group_id. Choose another one. No project was created.')
      await tx.projectMember.create({
        data: {
          projectId: id,
          kind: writer.kind,
          memberId: writer.id,
          role: 'owner',
          addedBy: createdBy,
          addedAt: now,
        },
      })
      return { body: { data: await projectAsSeen(tx, projectReaderOf(ctx), id, now) }, resourceId: id }
    },
    async (ctx, _input, { id }) => {
      const { name } = await projectAsSeen(ctx.tx, projectReaderOf(ctx), String(id), ctx.now)
      return { name }
    },
  ),

  read: read(readProject, async (ctx, { params: { projectId } }) => ({
    body: { data: await projectAsSeen(db, projectReaderOf(ctx), projectId, ctx.now) },
    resourceId: projectId,
  })),

  edit: mutation(editProject, async (ctx, { params: { projectId }, body }) => {
    const { tx, now } = ctx
    const project = await writableProject(tx, projectReaderOf(ctx), projectId, 'change')
    requireOwner(project)
    requireRegion(regions, body.region, 'conflict')
    // An owner can still choose another region, and give the project a name in the same request.
    if (body.name !== undefined && body.region === undefined) requireStorable(regions, project.region, 'conflict')
    await requireConversationsWithin(tx, projectId, body.region)
    await tx.project.update({
      where: { id: projectId },
      data: {
        updatedAt: now,
        ...(body.name !== undefined && { name: body.name }),
        ...(body.region !== undefined && { region: body.region }),
        ...(body.entity_kinds !== undefined && { entityKinds: body.entity_kinds }),
        ...(body.allows_redaction !== undefined && { allowsRedaction: body.allows_redaction }),
      },
    })
    return {
      body: { data: await projectAsSeen(tx, projectReaderOf(ctx), projectId, now) },
      resourceId: projectId,
      details: { fields: Object.keys(body) },
    }
  }),
})

const viewOf = (row: MemberRow): ProjectMember => ({ ...row, added_at: row.added_at.toISOString() })

/** @throws {Problem} `conflict` if this is the only owner: a project must have an owner */
async function refuseLastOwner(tx: Transaction, projectId: string, kind: string, memberId: string): Promise<void> {
  const owners = await tx.projectMember.findMany({ where: { projectId, role: 'owner' } })
  if (owners.length === 1 && owners[0]?.kind === kind && owners[0].memberId === memberId)
    throw new Problem(
      'conflict',
      'This is the only owner of the project. Make another member an owner first, or close the project.',
    )
}

/** Use cases for members. The project's row is locked while members change, so that one owner always remains. */
const projectMembers = ({ db }: Pick<ProjectPorts, 'db'>) => ({
  members: read(listProjectMembers, async (ctx, { params: { projectId }, query }) => {
    await readableProject(db, projectReaderOf(ctx), projectId)
    const rows = await membersPage(db, {
      project: projectId,
      reader: restrictedReader(ctx.actor),
      ...pageValues(query),
    })
    const total = await db.prisma.projectMember.count({ where: { projectId } })
    const { shown, page } = pageOf(rows, query.limit, total, ({ added_at: at, member_id: id }) => ({ at, id }))
    return { resourceId: projectId, details: { count: shown.length }, body: { data: shown.map(viewOf), ...page } }
  }),

  addMember: mutation(
    addProjectMember,
    async (ctx, { params: { projectId }, body: { kind, role, ...body } }) => {
      const { tx, actor, now } = ctx
      const { organisationId: organisation, ...project } = await writableProject(
        tx,
        projectReaderOf(ctx),
        projectId,
        'change',
      )
      requireOwner(project)
      const id = body.member_id ?? (await accountDirectory.byEmail(tx, body.email ?? ''))?.accountId
      // The response is the same for an unknown member and for one of another organization.
      if (id === undefined || (await findInOrganisation(tx, { kind, id, organisation })).length === 0)
        throw new Problem(
          'not_found',
          `The project’s organization has no such ${kind === 'account' ? 'person' : 'agent'}. No member was added.`,
        )
      if (role !== 'owner') await refuseLastOwner(tx, projectId, kind, id)
      await setMember(tx, { project: projectId, kind, id, role, addedBy: actor.id, now })
      const [row] = await memberOfProject(tx, { project: projectId, kind, id, reader: restrictedReader(actor) })
      if (!row) throw new Problem('conflict', 'The member was removed by another request. Send this request again.')
      return { body: { data: viewOf(row) }, resourceId: id, details: { project: projectId, role } }
    },
    async (ctx, { params: { projectId } }, { kind, member_id }) => {
      await seenProject(ctx.tx, projectReaderOf(ctx), projectId)
      const [row] = await memberOfProject(ctx.tx, {
        project: projectId,
        kind: String(kind),
        id: String(member_id),
        reader: restrictedReader(ctx.actor),
      })
      if (!row) throw new Problem('conflict', 'The member was added, and has been removed since.')
      return { name: row.name }
    },
  ),

  removeMember: mutation(removeProjectMember, async (ctx, { params: { projectId, kind, memberId } }) => {
    const { tx, actor } = ctx
    const project = await writableProject(tx, projectReaderOf(ctx), projectId, 'change')
    const isOneself = isMine(actor, { authorKind: kind, authorId: memberId })
    if (!isOneself) requireOwner(project)
    await refuseLastOwner(tx, projectId, kind, memberId)
    const { count } = await tx.projectMember.deleteMany({ where: { projectId, kind, memberId } })
    if (count === 0) throw new Problem('not_found', 'The project has no such member.')
    return { body: undefined, resourceId: memberId, details: { project: projectId } }
  }),
})

/** Use cases for the provenance ledger. It contains pointers and no content. */
const projectProvenance = ({ db, ...ports }: Pick<ProjectPorts, 'db' | 'withCheckpoints'> & ConfiningPorts) => ({
  reportProvenance: mutation(reportProvenance, async (ctx, { params: { projectId }, body: { entries } }) => {
    const { tx, actor, now } = ctx
    const project = await writableProject(tx, projectReaderOf(ctx), projectId)
    const ids = [...new Set(entries.map(({ source_id }) => source_id))]
    const rows = await lockSources(tx, { project: projectId, ids })
    // Clients may also use stored ids.
    const found = new Map(rows.flatMap((row) => [[row.id, row] as const, [shownId(row.id), row] as const]))
    const issues = entries.flatMap(({ source_id }, index): Issue[] =>
      found.has(source_id)
        ? []
        : [
            {
              path: ['entries', index, 'source_id'],
              message: `is not a message or document of this project: ${source_id}`,
            },
          ],
    )
    if (issues.length > 0)
      throw new Problem('invalid', {
        detail: `${issues.length} of ${entries.length} entries name no message or document of this project. No entry was stored.`,
        issues: issues.slice(0, 100),
      })
    if (rows.some(({ is_erasing }) => is_erasing))
      throw new Problem(
        'fenced',
        'Some of these messages or documents are being erased and accept no pointers. No entry was stored. Delete the data derived from them in its store.',
      )
    const reported = entries.flatMap(({ source_id, ...entry }, index): ReportedPointer[] => {
      const source = found.get(source_id)
      return source ? [{ ...entry, source: source.id, kind: source.kind, path: ['entries', index] }] : []
    })
    await confine(tx, project, reported, ports)
    await claimPlaces(ports, tx, actor, projectId, reported)
    const stored = await store(tx, reported, { projectId, reportedBy: actor.id, now })
    return {
      body: { data: { received: entries.length, stored, known: entries.length - stored } },
      resourceId: projectId,
      details: { received: entries.length, stored },
    }
  }),

  provenance: read(listProvenance, async (ctx, { params: { projectId }, query: { source_id, cursor, limit } }) => {
    await readableProject(db, projectReaderOf(ctx), projectId)
    const after = parseCursor(cursor)
    const rows = await pointersBefore(db, {
      project: projectId,
      source: source_id ?? null,
      limit: limit + 1,
      at: after?.at ?? 'infinity',
      id: after?.id ?? '',
    })
    const total = await db.prisma.provenance.count({
      where: {
        projectId,
        ...(source_id !== undefined && { sourceId: { in: [source_id, scopedId(projectId, source_id)] } }),
      },
    })
    const { shown, page } = pageOf(rows, limit, total, ({ at, id }) => ({ at, id }))
    return {
      resourceId: projectId,
      details: { count: shown.length },
      body: {
        data: shown.map((row) => ({ ...row, place: row.place === '' ? null : row.place, at: row.at.toISOString() })),
        ...page,
      },
    }
  }),
})

/** The use cases of projects: conversations, messages, documents, participants and provenance. Erasing parts is in `erasing/service.ts`. */
const projectsService = (ports: ProjectPorts & ExportShapes & ParticipantExports) => ({
  ...ownedProjects(ports),
  ...projectMembers(ports),
  ...projectParticipants(ports),
  ...projectConversations(ports),
  ...projectMessages(ports),
  ...projectAttachments(ports),
  ...projectDocuments(ports),
  ...projectProvenance(ports),
  ...projectClosing(),
  ...projectExport(ports),
  ...historyImport(ports),
})

/**
 * Moves the projects of a claimed agent to its owner's organization if the agent is their only member. The agent loses access to its other
 * projects, which stay in their organization.
 */
export const followAgent = (tx: Transaction, agent: string): Promise<number> => moveProjectsOfAgent(tx, { agent })

interface ProjectsDataParts extends Pick<GraphSourceDeps, 'namesOf' | 'heldNames' | 'sources'> {
  db: Database
  env: Pick<Env, 'KP_CACHE_INVALIDATE_PROJECT' | 'KP_POINTER_PREFIXES'>
  stores: { cache: CacheStore; checkpoints: CheckpointStore; graph: GraphStore; objects: ObjectStore }
  /** How a data source learns that a store that it used is no longer connected. */
  storeRegistry: { missing(store: 'cache' | 'checkpoints' | 'graph' | 'objects'): MissingStoreData }
  pseudonymOf: ProjectPseudonym
}

/** Rows are erased after the data derived from them, and projects after their contents. */
export function projectsData({ env, storeRegistry, ...parts }: ProjectsDataParts): PersonalData {
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
      cacheDataSource({ ...deps, cache: stores.cache, whatIsMissing: storeRegistry.missing('cache') }),
      graphDataSource({ ...deps, graph: stores.graph, whatIsMissing: storeRegistry.missing('graph') }),
      objectsDataSource({ ...deps, objects: stores.objects, whatIsMissing: storeRegistry.missing('objects') }),
      outsidePointerDataSource(db),
      quotationDataSource(db, sources, stores),
      // Before the messages, through which derived data is found.
      documentDataSource(db),
      messageDataSource(db),
      conversationDataSource(db),
      memberDataSource(db),
      participantDataSource(db),
      projectDataSource(db),
      projectReferencesDataSource(db, deps),
      checkpointsDataSource({
        ...deps,
        store: stores.checkpoints,
        whatIsMissing: storeRegistry.missing('checkpoints'),
      }),
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
      hasLostRight,
      rectify: rectifyParticipant,
      refuseTakeover: requestedChanges,
    },
    /** Whether the caller answers for a part of a project. */
    answersForPart: (ctx: Context, part: ProjectPart) => db.transaction((tx) => answersForPart({ ...ctx, tx }, part)),
  }
}
