import { planContribution, quarantinedForReview } from '#lib/domains/knowledge/units/contribution.ts'
import { namedAfterCommit } from '#lib/domains/knowledge/units/name-warnings.ts'
import { goneOrNotFound, type KnowledgeDeps } from '#lib/domains/knowledge/units/stored-unit.ts'
import { decodeCursor, encodeCursor, notOurCursor } from '#lib/kernel/pages.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { mutation, read, statement } from '#lib/kernel/use-case.ts'
import { searchPage } from '../search/paging.ts'
import { snippetOf } from '../search/snippet.ts'
import { weightedTextsOf } from '../search/unit-texts.ts'
import { knowledgeReaderOf } from '../visibility.ts'
import { approve } from './approval.ts'
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
} from './contract.ts'
import { publish } from './publication.ts'
import { listedSops, visibleSop, visibleSopWithin } from './repository.ts'
import { revise } from './revision.ts'
import { etagOfSop, sopView } from './rows.ts'
import { skillDocument } from './skill-document.ts'
import { eraseVersion } from './version-erasure.ts'
import { sopVersionOf, versionFacts, versionsOf } from './versions.ts'

/** Cursors contain a time, which the order of versions does not use. */
const epoch = new Date('2000-01-01T00:00:00Z')
const afterVersion = (cursor: string | undefined, id: string): number | undefined => {
  if (cursor === undefined) return undefined
  const [of, version] = decodeCursor(cursor)?.id.split('..') ?? []
  if (of !== id || !/^[1-9]\d{0,8}$/.test(version ?? '')) throw notOurCursor()
  return Number(version)
}

type SopDeps = Pick<KnowledgeDeps, 'db' | 'erasures' | 'strict' | 'withdrawAnswers' | 'names' | 'chosenIds'>
type Lookup = Pick<SopDeps, 'db' | 'erasures'>

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
    if (!row) throw await goneOrNotFound(erasures, ctx, id)
    return { body: { data: sopView(row) }, resourceId: id, headers: { ETag: etagOfSop(row) } }
  })

const reviseOne = ({ db, erasures, strict, names }: Pick<SopDeps, 'db' | 'erasures' | 'strict' | 'names'>) =>
  mutation(reviseSop, async (ctx, input) => {
    const { id } = input.params
    const revised = await revise(ctx, input, { db, strict })
    if (!revised) throw await goneOrNotFound(erasures, ctx, id, ctx.tx)
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
      details: { version: row.wording, changed, visibility: row.visibility, sanitized },
      headers: { ETag: etagOfSop(row) },
    })
  })

const listVersions = ({ db, erasures }: Lookup) =>
  read(listSopVersions, async (ctx, { params: { id }, query: { limit, offset, cursor } }) => {
    const reader = knowledgeReaderOf(ctx)
    const [sop] = await visibleSop(db, { id, ...reader })
    if (!sop) throw await goneOrNotFound(erasures, ctx, id)
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
    if (!sop) throw await goneOrNotFound(erasures, ctx, id)
    const row = await sopVersionOf(db, sop, reader, version)
    if (!row)
      throw new Problem('not_found', 'The SOP has no version with this number, or you are not allowed to read it.')
    return {
      body: { data: { id, ...versionFacts(sop, reader, row), unit: { ...row.document, id } } },
      resourceId: id,
      details: { version },
    }
  })

const eraseOneVersion = ({ erasures, withdrawAnswers }: Pick<SopDeps, 'erasures' | 'withdrawAnswers'>) =>
  mutation(eraseSopVersion, async (ctx, { params, headers }) => {
    const { id, version } = params
    if (!(await eraseVersion(ctx, params, headers['if-match']))) throw await goneOrNotFound(erasures, ctx, id, ctx.tx)
    await withdrawAnswers(ctx.tx, id)
    const deleted = { scope: { version: String(version) } }
    return { body: undefined, resourceId: id, details: { version, erased: true }, deleted }
  })

const approveVersion = ({ erasures }: Pick<SopDeps, 'erasures'>) =>
  mutation(
    approveSop,
    async (ctx, { params: { id }, headers, body }) => {
      const approved = await approve(ctx, id, { version: body?.version, ifMatch: headers['if-match'] })
      if (!approved) throw await goneOrNotFound(erasures, ctx, id, ctx.tx)
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
      if (!row) throw await goneOrNotFound(erasures, ctx, id, ctx.tx)
      return sopView(row)
    },
  )

const exportSkill = ({ erasures, strict }: Pick<SopDeps, 'erasures' | 'strict'>) =>
  mutation(
    exportSopAsSkill,
    async (ctx, { params: { id }, body }) => {
      const [sop] = await visibleSopWithin(ctx.tx, { id, ...knowledgeReaderOf(ctx) })
      if (!sop) throw await goneOrNotFound(erasures, ctx, id, ctx.tx)
      const made = skillDocument(sop.document, { id, version: sop.wording, author: sop.agent_id })
      const skillId = body?.publish === true ? await publish(ctx, sop, made, strict) : undefined
      const details = { version: sop.wording, ...(skillId !== undefined && { skill: skillId }) }
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
      if (!sop) throw await goneOrNotFound(erasures, ctx, id, ctx.tx)
      return { ...skillDocument(sop.document, { id, version: sop.wording, author: sop.agent_id }), files: [] }
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
