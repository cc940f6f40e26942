import { isDeepStrictEqual } from 'node:util'
import type { z } from 'zod'
import { withdrawAnswers } from '#lib/domains/idempotency/writes.ts'
import type { Unit } from '#lib/domains/knowledge/contract.ts'
import { listedInstructions } from '#lib/domains/sanitizer/contract.ts'
import { SanitizationError } from '#lib/domains/sanitizer/sanitization-error.ts'
import type { MutationContext, Transaction } from '#lib/kernel/context.ts'
import type { Input } from '#lib/kernel/operation.ts'
import { decodeCursor, encodeCursor, notOurCursor } from '#lib/kernel/pages.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { guardRecord, mutation, read, statement } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import {
  contributorOf,
  type PreparedUnit,
  planContribution,
  prepareUnit,
  quarantinedForReview,
} from '../contribution.ts'
import { expertsOfStoredVersions, rejectUnderLegalHold } from '../erasure/repository.ts'
import type { KnowledgeReader } from '../repository.ts'
import { searchPage } from '../search/paging.ts'
import { snippetOf } from '../search/snippet.ts'
import { weightedTextsOf } from '../search/words.ts'
import { prepareSkill } from '../skills/preparation.ts'
import { insertSkill } from '../skills/storage.ts'
import {
  erasedOrNotFound,
  etagOf,
  isUnderReview,
  type KnowledgeDeps,
  knowledgeReaderOf,
  namedAfterCommit,
  passes,
  recordingRejection,
  rejectionOf,
} from '../stored-unit.ts'
import { dropVotes } from '../votes/service.ts'
import {
  approveSop,
  contributeSop,
  eraseSopVersion,
  exportSopAsSkill,
  listSops,
  listSopVersions,
  readSop,
  readSopVersion,
  reviseSop,
  type StoredSop,
} from './contract.ts'
import {
  approvalOfVersion,
  countVersions,
  deleteVersion,
  insertVersion,
  listedSops,
  lockChangeableSop,
  lockSop,
  readableVersion,
  type SopRow,
  sopById,
  updateSop,
  type VersionRow,
  versionsPage,
  visibleSop,
  visibleSopWithin,
} from './repository.ts'
import { type SkillDocument, skillDocument } from './skill-document.ts'

/** Cursors contain a time, which the order of versions does not use. */
const epoch = new Date('2000-01-01T00:00:00Z')
const afterVersion = (cursor: string | undefined, id: string): number | undefined => {
  if (cursor === undefined) return undefined
  const [of, version] = decodeCursor(cursor)?.id.split('..') ?? []
  if (of !== id || !/^[1-9]\d{0,8}$/.test(version ?? '')) throw notOurCursor()
  return Number(version)
}

type SopDeps = Pick<KnowledgeDeps, 'db' | 'erasures' | 'strict' | 'names' | 'chosenIds'>
type Lookup = Pick<SopDeps, 'db' | 'erasures'>

/** Locks the SOP against other changes and returns it if the reader may see it. */
async function lockedVisibleSop(tx: Transaction, id: string, reader: KnowledgeReader): Promise<SopRow | undefined> {
  await lockSop(tx, { id })
  const [row] = await visibleSopWithin(tx, { id, ...reader })
  return row
}

/** Returns a locked SOP without checking access; callers have checked it before. */
async function storedSop(tx: Transaction, id: string): Promise<SopRow> {
  const [row] = await sopById(tx, { id })
  if (!row) throw new Error('A locked SOP does not exist.')
  return row
}

/** Whether the reader sees former versions, and their authors and approvers: the author, its owner and admins do. */
const seesFormer = (reader: KnowledgeReader, row: Pick<SopRow, 'agent_id'>): boolean =>
  reader.admin || reader.agents.includes(row.agent_id)

const sopView = (row: SopRow): z.input<typeof StoredSop> => ({
  id: row.id,
  unit: { ...row.document, id: row.id },
  visibility: row.visibility,
  quality_score: row.quality_score,
  ...listedInstructions(row.instructions),
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
  version: row.current_version,
  approved_version: row.approved_version,
  approved_at: row.approved_at,
})
const etagOfSop = (row: Pick<SopRow, 'version' | 'quality_score'>): string =>
  etagOf({ version: row.version, quality: row.quality_score })

const list = ({ db }: Pick<SopDeps, 'db'>) =>
  read(listSops, async (ctx, { query }) => {
    const { domain, approved } = query
    const filters = { isSop: true, sop_domain: domain, approved } as const
    const found = await searchPage(db, ctx, query, { listed: listedSops, filters })
    const { rows, terms, corrected, ...page } = found
    return {
      body: {
        data: rows.map(({ row, score }) => ({
          ...sopView(row),
          agent_id: row.agent_id,
          ...(score !== undefined && { score, snippet: snippetOf(weightedTextsOf(row.document), terms) }),
        })),
        ...page,
        ...(corrected.length > 0 && { corrected }),
      },
      resourceId: 'query',
      details: { count: rows.length, total: page.total, corrected: corrected.length },
    }
  })

const contribute = (deps: SopDeps) =>
  statement(contributeSop, async (ctx, { body }) => {
    const { reply, ...planned } = await planContribution(deps, ctx, body)
    return {
      ...planned,
      reply: (row) => {
        const { body: made, headers } = reply(row)
        const data = made && { ...made.data, version: 1, approved_version: null, approved_at: null }
        return {
          body: data && { ...made, data },
          headers: { ...headers, ...(data && { Location: `/v1/sop/${data.id}` }) },
        }
      },
    }
  })

const readOne = ({ db, erasures }: Lookup) =>
  read(readSop, async (ctx, { params: { id } }) => {
    const [row] = await visibleSop(db, { id, ...knowledgeReaderOf(ctx) })
    if (!row) throw await erasedOrNotFound(erasures, ctx, id)
    return { body: { data: sopView(row) }, resourceId: id, headers: { ETag: etagOfSop(row) } }
  })

interface Revised {
  row: SopRow
  warnings: string[]
  /** Its texts and the personal data found in them. */
  texts: { value: unknown; found: PreparedUnit['found'] }
  /** False if the text was unchanged. */
  changed: boolean
  sanitized: number
  sanitizedPlaces: PreparedUnit['sanitizedPlaces']
  /** Whether this revision put it into quarantine. */
  heldNow: boolean
}

const isOther = (field: (string | number)[], message: string) => ({ issues: [{ path: field, message }] })

/** Whether the two differ in visibility at most. */
const isSameText = (one: Unit, { metadata, ...other }: Unit): boolean =>
  isDeepStrictEqual(one, { ...other, id: one.id, metadata: { ...metadata, visibility: one.metadata.visibility } })

/**
 * Adds a version with the next number to an SOP. The row is locked, so concurrent revisions leave no gaps. Votes were for the old version
 * and are deleted, novelty is computed again, and a quarantine remains. Returns undefined if no such SOP exists that the actor may change.
 * @throws {Problem} `restricted`, `precondition_failed`, `invalid`, `forbidden`, `content_rejected`
 */
async function revise(
  ctx: MutationContext,
  { params: { id }, headers, body }: Input<typeof reviseSop>,
  { db, strict }: { db: Database; strict: boolean },
): Promise<Revised | undefined> {
  const { tx, actor, now } = ctx
  const [locked] = await lockChangeableSop(tx, { id, agents: actor.agents, isAdmin: actor.isAdmin })
  if (!locked) return undefined
  if (locked.restricted)
    throw new Problem('restricted', 'Processing is restricted for the author of this SOP. The SOP was not changed.')
  if (!passes(headers['if-match'], locked.version))
    throw new Problem(
      'precondition_failed',
      'The SOP has changed since you read it, so nothing was changed. Read it again.',
    )
  if (body.id !== undefined && body.id !== id)
    throw new Problem('invalid', {
      detail: 'One field is not valid.',
      ...isOther(['id'], 'must be the id in the URL'),
    })
  const author = locked.agent_id
  if (body.metadata.agent_id !== undefined && body.metadata.agent_id !== author)
    throw new Problem('forbidden', {
      detail: 'The author of an SOP cannot be changed.',
      ...isOther(['metadata', 'agent_id'], 'is another agent'),
    })

  const unit = recordingRejection(db, actor.id, now, () => prepareUnit({ ...body, id }, { author, strict }))
  const texts = { value: unit.document, found: unit.found }
  const isOwn = actor.agents.includes(author)
  guardRecord(ctx, 'publish', { isOwn, from: locked.visibility, to: unit.visibility })
  const done = {
    warnings: unit.warnings,
    texts,
    sanitized: unit.sanitized,
    sanitizedPlaces: unit.sanitizedPlaces,
  }
  if (isDeepStrictEqual(unit.document, { ...locked.document, id }))
    return { ...done, row: await storedSop(tx, id), changed: false, heldNow: false }

  const quality = isSameText(unit.document, locked.document)
    ? locked.quality_score
    : await dropVotes(tx, id, unit.document)
  const held = locked.quarantined_at ?? ((await isUnderReview(tx, { author, actorId: actor.id }, now)) ? now : null)
  const { json: document, domain, attributedTo, visibility, search, instructions } = unit
  await updateSop(tx, {
    id,
    document,
    domain,
    attributedTo,
    visibility,
    search,
    instructions,
    quality,
    quarantinedAt: held,
    now,
  })
  await insertVersion(tx, { unit: id, document, actor: actor.id, now })
  return {
    ...done,
    row: await storedSop(tx, id),
    changed: true,
    heldNow: held !== null && locked.quarantined_at === null,
  }
}

const reviseOne = ({ db, erasures, strict, names }: Pick<SopDeps, 'db' | 'erasures' | 'strict' | 'names'>) =>
  mutation(reviseSop, async (ctx, input) => {
    const { id } = input.params
    const revised = await revise(ctx, input, { db, strict })
    if (!revised) throw await erasedOrNotFound(erasures, ctx, id, ctx.tx)
    const { row, changed, sanitized, sanitizedPlaces, heldNow, texts } = revised
    const warnings = heldNow ? [...revised.warnings, quarantinedForReview] : revised.warnings
    return namedAfterCommit(names, texts, {
      body: {
        data: sopView(row),
        quality_score: row.quality_score,
        ...(warnings.length > 0 && { warnings }),
        ...(sanitizedPlaces.length > 0 && { sanitized: sanitizedPlaces }),
      },
      resourceId: id,
      details: { version: row.current_version, changed, visibility: row.visibility, sanitized },
      headers: { ETag: etagOfSop(row) },
    })
  })

const readerOfVersions = (sop: SopRow, { agents, admin, organisation }: KnowledgeReader) => ({
  unit: sop.id,
  isOwn: agents.includes(sop.agent_id),
  admin,
  isOfOrganisation: admin || organisation === sop.organisation_id,
  current: sop.current_version,
  approved: sop.approved_version,
})

/** Lists versions without their text, newest first, and their total. The reader must be able to see the SOP. */
async function versionsOf(
  db: Database,
  sop: SopRow,
  reader: KnowledgeReader,
  { before, limit, offset }: { before: number | undefined; limit: number; offset: number },
): Promise<{ rows: VersionRow[]; total: number }> {
  const rights = readerOfVersions(sop, reader)
  const [rows, [count]] = await Promise.all([
    versionsPage(db, { ...rights, before: before ?? null, limit, offset }),
    countVersions(db, rights),
  ])
  return { rows, total: count?.n ?? 0 }
}

/** Returns one version with its text; undefined if it does not exist or the reader may not see it. */
async function sopVersionOf(db: Database, sop: SopRow, reader: KnowledgeReader, version: number) {
  const [row] = await readableVersion(db, { ...readerOfVersions(sop, reader), version })
  return row
}

/** Others see when a version was created and approved, but not by whom: accounts are personal data. */
const versionFacts = (sop: SopRow, reader: KnowledgeReader, row: VersionRow) => {
  const showsWho = seesFormer(reader, sop)
  return {
    version: row.version,
    created_by: showsWho ? row.created_by : null,
    created_at: row.created_at,
    approved_by: showsWho ? row.approved_by : null,
    approved_at: row.approved_at,
  }
}

const listVersions = ({ db, erasures }: Lookup) =>
  read(listSopVersions, async (ctx, { params: { id }, query: { limit, offset, cursor } }) => {
    const reader = knowledgeReaderOf(ctx)
    const [sop] = await visibleSop(db, { id, ...reader })
    if (!sop) throw await erasedOrNotFound(erasures, ctx, id)
    const before = afterVersion(cursor, id)
    const { rows, total } = await versionsOf(db, sop, reader, { before, limit: limit + 1, offset })
    const data = rows.slice(0, limit)
    const last = rows.length > limit ? data.at(-1) : undefined
    return {
      body: {
        data: data.map((row) => versionFacts(sop, reader, row)),
        total,
        offset,
        limit,
        next_cursor: last ? encodeCursor(epoch, `${id}..${last.version}`) : null,
      },
      resourceId: id,
      details: { count: data.length },
    }
  })

const readVersion = ({ db, erasures }: Lookup) =>
  read(readSopVersion, async (ctx, { params: { id, version } }) => {
    const reader = knowledgeReaderOf(ctx)
    const [sop] = await visibleSop(db, { id, ...reader })
    if (!sop) throw await erasedOrNotFound(erasures, ctx, id)
    const row = await sopVersionOf(db, sop, reader, version)
    if (!row)
      throw new Problem('not_found', 'The SOP has no version with this number, or you are not allowed to read it.')
    return {
      body: { data: { id, ...versionFacts(sop, reader, row), unit: { ...row.document, id } } },
      resourceId: id,
      details: { version },
    }
  })

/**
 * Erases one former version of an SOP. Returns false if no such SOP exists that the actor may change.
 * @throws {Problem} `precondition_failed`, `conflict` for the current version, `not_found`, `held`
 */
async function eraseVersion(
  ctx: MutationContext,
  { id, version }: { id: string; version: number },
  ifMatch: string | undefined,
): Promise<boolean> {
  const { tx, actor, now } = ctx
  const [locked] = await lockChangeableSop(tx, { id, agents: actor.agents, isAdmin: actor.isAdmin })
  if (!locked) return false
  guardRecord(ctx, 'erase-words', { isOwn: actor.agents.includes(locked.agent_id) })
  if (!passes(ifMatch, locked.version))
    throw new Problem(
      'precondition_failed',
      'The SOP has changed since you read it, so nothing was erased. Read it again.',
    )
  if (version === locked.current_version)
    throw new Problem(
      'conflict',
      'This is the current version, so nothing was erased. Correct it with PATCH /v1/knowledge/{id}, or erase the SOP.',
    )
  const { agent_id, attributed_to, original_author } = locked
  const agents = [agent_id, attributed_to, original_author, ...(await expertsOfStoredVersions(tx, id))]
  await rejectUnderLegalHold(tx, { kind: 'unit', id, agents }, now)
  const deleted = await deleteVersion(tx, { unit: id, version, isOwn: actor.agents.includes(agent_id) })
  if (deleted === 0)
    throw new Problem('not_found', 'The SOP has no version with this number, or you are not allowed to erase it.')
  // The erased version may have been the newest approved one, which others read with the SOP.
  await tx.unit.update({ where: { id }, data: { version: { increment: 1 } } })
  return true
}

const eraseOneVersion = ({ erasures }: Pick<SopDeps, 'erasures'>) =>
  mutation(eraseSopVersion, async (ctx, { params, headers }) => {
    const { id, version } = params
    if (!(await eraseVersion(ctx, params, headers['if-match']))) throw await erasedOrNotFound(erasures, ctx, id, ctx.tx)
    await withdrawAnswers(ctx.tx, id)
    const deleted = { scope: { version: String(version) } }
    return { body: undefined, resourceId: id, details: { version, erased: true }, deleted }
  })

interface Approved {
  row: SopRow
  version: number
  /** False if it was already approved. */
  changed: boolean
}

/**
 * Approves a version, by default the current one. The first approver stays recorded. Returns undefined if the actor cannot see the SOP.
 * @throws {Problem} `precondition_failed`; `not_found` for a version that does not exist or was private; `forbidden` for an author
 */
async function approve(
  ctx: MutationContext,
  id: string,
  asked: { version?: number | undefined; ifMatch?: string | undefined },
): Promise<Approved | undefined> {
  const { tx, actor, now } = ctx
  const seen = await lockedVisibleSop(tx, id, knowledgeReaderOf(ctx))
  if (!seen) return undefined
  if (!passes(asked.ifMatch, seen.version))
    throw new Problem(
      'precondition_failed',
      'The SOP has changed since you read it, so nothing was approved. Read it again.',
    )
  const version = asked.version ?? seen.current_version
  const [versions] = await approvalOfVersion(tx, { unit: id, version, actor: actor.id })
  if (!versions || (versions.visibility === 'private' && !actor.agents.includes(seen.agent_id)))
    throw new Problem(
      'not_found',
      `The SOP has no version ${version} that you can read. The newest version is ${seen.current_version}.`,
    )
  if (versions.approved_at !== null) return { row: seen, version, changed: false }
  if (versions.isOwn)
    throw new Problem(
      'forbidden',
      'You, or an agent of yours, wrote this SOP or this version, so another admin approves it. Nothing was approved.',
    )
  await tx.sopVersion.update({
    where: { unitId_version: { unitId: id, version } },
    data: { approvedBy: actor.id, approvedAt: now },
  })
  await tx.unit.update({ where: { id }, data: { version: { increment: 1 } } })
  return { row: await storedSop(tx, id), version, changed: true }
}

const approveVersion = ({ erasures }: Pick<SopDeps, 'erasures'>) =>
  mutation(
    approveSop,
    async (ctx, { params: { id }, headers, body }) => {
      const approved = await approve(ctx, id, { version: body?.version, ifMatch: headers['if-match'] })
      if (!approved) throw await erasedOrNotFound(erasures, ctx, id, ctx.tx)
      const { row, version, changed } = approved
      return {
        body: { data: sopView(row) },
        resourceId: id,
        details: { version, changed },
        headers: { ETag: etagOfSop(row) },
      }
    },
    async (ctx, { params: { id } }) => {
      const [row] = await visibleSopWithin(ctx.tx, { id, ...knowledgeReaderOf(ctx) })
      if (!row) throw await erasedOrNotFound(erasures, ctx, id, ctx.tx)
      return sopView(row)
    },
  )

/**
 * Stores an SOP as a skill of the caller, with the SOP's visibility. A copy never leaves its organization: an admin's agent, which can read
 * the SOPs of all organizations, can publish only public ones and those of its own. A copy of another author's work earns no reputation.
 * Returns the skill's id.
 * @throws {Problem} `scope_too_small`, `forbidden`, `conflict`, `too_large`; `content_rejected` if sanitizer rules became stricter since,
 * which is not counted as a rejection
 */
async function publish(
  ctx: MutationContext,
  sop: SopRow,
  { name, skill_md }: SkillDocument,
  strict: boolean,
): Promise<string> {
  if (!ctx.actor.can('skills:write'))
    throw new Problem('scope_too_small', 'Publishing requires a token with the scope "write".')
  const { author, organisationId } = contributorOf(ctx)
  if (sop.visibility !== 'network' && sop.organisation_id !== organisationId)
    throw new Problem(
      'forbidden',
      'The SOP is not public and belongs to another organization, so you cannot publish a copy. Nothing was stored.',
    )
  const { skill } = prepared()
  const stored = await insertSkill(ctx.tx, skill, {
    author,
    organisationId,
    visibility: sop.visibility,
    now: ctx.now,
    isImport: author !== sop.agent_id,
  })
  if (!stored)
    throw new Problem(
      'conflict',
      `You already have a skill called "${name}", so nothing was stored. Update that skill with PATCH /v1/skills/{id}.`,
    )
  return stored.row.id

  function prepared() {
    try {
      return prepareSkill({ skill_md, files: [] }, { strict, maxBytes: ctx.actor.quota.unitBytes })
    } catch (error) {
      throw SanitizationError.is(error) ? rejectionOf(error) : error
    }
  }
}

const exportSkill = ({ erasures, strict }: Pick<SopDeps, 'erasures' | 'strict'>) =>
  mutation(
    exportSopAsSkill,
    async (ctx, { params: { id }, body }) => {
      const [sop] = await visibleSopWithin(ctx.tx, { id, ...knowledgeReaderOf(ctx) })
      if (!sop) throw await erasedOrNotFound(erasures, ctx, id, ctx.tx)
      const made = skillDocument(sop.document, { id, version: sop.current_version, author: sop.agent_id })
      const skillId = body?.publish === true ? await publish(ctx, sop, made, strict) : undefined
      const details = { version: sop.current_version, ...(skillId !== undefined && { skill: skillId }) }
      return {
        body: { data: { ...made, files: [], ...(skillId !== undefined && { skill_id: skillId }) } },
        resourceId: id,
        entries: [
          { resourceId: id, details },
          ...(skillId === undefined
            ? []
            : [{ resourceId: skillId, resourceType: 'skill', action: 'create' as const, details: { sop: id } }]),
        ],
      }
    },
    async (ctx, { params: { id } }) => {
      const [sop] = await visibleSopWithin(ctx.tx, { id, ...knowledgeReaderOf(ctx) })
      if (!sop) throw await erasedOrNotFound(erasures, ctx, id, ctx.tx)
      return { ...skillDocument(sop.document, { id, version: sop.current_version, author: sop.agent_id }), files: [] }
    },
  )

/** SOPs: units of type ExpertSOP with all their versions. */
export const sopsService = (deps: SopDeps) => ({
  list: list(deps),
  contribute: contribute(deps),
  read: readOne(deps),
  revise: reviseOne(deps),
  versions: listVersions(deps),
  version: readVersion(deps),
  eraseVersion: eraseOneVersion(deps),
  approve: approveVersion(deps),
  exportSkill: exportSkill(deps),
})
