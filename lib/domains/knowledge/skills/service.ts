import { withdrawAnswers } from '#lib/domains/idempotency/writes.ts'
import type { Context, MutationContext } from '#lib/kernel/context.ts'
import type { Input, Output } from '#lib/kernel/operation.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { guardRecord, mutation, type Reply, read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { contributorOf, quarantinedForReview } from '../contribution.ts'
import { lockErasableSkill } from '../erasure/repository.ts'
import { searchPage } from '../search/paging.ts'
import { snippetOf } from '../search/snippet.ts'
import {
  erasedOrNotFound,
  eraseRow,
  isUnderReview,
  type KnowledgeDeps,
  knowledgeReaderOf,
  namedAfterCommit,
  passes,
  recordingRejection,
  warningsWithNames,
} from '../stored-unit.ts'
import { contributeSkill, correctSkill, eraseSkill, listSkills, readSkill, validateSkill } from './contract.ts'
import { examineSkill, type PreparedSkill, prepareSkill, skillTexts, skillTextsOf } from './preparation.ts'
import {
  listedSkills,
  listedSkillsWithTexts,
  lockChangeableSkill,
  type SkillRow,
  visibleSkill,
  type WholeSkillRow,
} from './repository.ts'
import type { Fault } from './rules.ts'
import { insertSkill, replaceSkill, skillEtag, summaryOf, wholeSkillOf } from './storage.ts'

type SkillServiceDeps = Pick<KnowledgeDeps, 'db' | 'erasures' | 'strict' | 'names'>

const nameInUse = (name: string): Problem =>
  new Problem('conflict', {
    detail: `You already have a skill called "${name}", so nothing was stored. Change that skill, or choose another name.`,
    issues: [{ path: ['skill_md'], message: 'name is already in use' }],
  })

/** Returns the locked row if the actor may change it: the author, the author's owner, or an admin unless it is private. */
async function changeable(
  { erasures }: Pick<SkillServiceDeps, 'erasures'>,
  ctx: MutationContext,
  id: string,
): Promise<WholeSkillRow> {
  const { agents, isAdmin } = ctx.actor
  const [row] = await lockChangeableSkill(ctx.tx, { id, agents, isAdmin })
  if (!row) throw await erasedOrNotFound(erasures, ctx, id, ctx.tx)
  return row
}

const placesOf = ({ sanitizedPlaces }: PreparedSkill) =>
  sanitizedPlaces.length > 0 ? { sanitized: sanitizedPlaces } : {}
const boundsOf = (strict: boolean, { actor }: Context) => ({ strict, maxBytes: actor.quota.unitBytes })

const contribute = ({ db, strict, names }: Pick<SkillServiceDeps, 'db' | 'strict' | 'names'>) =>
  mutation(contributeSkill, async (ctx, { body: { visibility, ...sent } }) => {
    const { author, organisationId } = contributorOf(ctx)
    const { skill, warnings, found } = recordingRejection(db, author, ctx.now, () =>
      prepareSkill(sent, boundsOf(strict, ctx)),
    )
    const stored = await insertSkill(ctx.tx, skill, { author, organisationId, visibility, now: ctx.now })
    if (!stored) throw nameInUse(skill.frontMatter.name)
    const { row, isQuarantined } = stored
    const reported = isQuarantined ? [...warnings, quarantinedForReview] : warnings
    return namedAfterCommit(
      names,
      { value: skillTextsOf(skill), found },
      {
        body: { data: wholeSkillOf(row), ...(reported.length > 0 && { warnings: reported }), ...placesOf(skill) },
        resourceId: row.id,
        details: { visibility, files: skill.files.length, sanitized: skill.sanitized },
        headers: { Location: `/v1/skills/${row.id}`, ETag: skillEtag(1) },
      },
    )
  })

const validate = ({ strict, names }: Pick<SkillServiceDeps, 'strict' | 'names'>) =>
  read(validateSkill, async (_ctx, { body }) => {
    const { skill, faults, rejections, warnings: own, found } = examineSkill(body, { strict })
    const warnings = skill ? await warningsWithNames(names, { value: skillTextsOf(skill), found, warnings: own }) : own
    const all: Fault[] = [
      ...faults.map(({ path: _, ...fault }) => fault),
      ...rejections.map(({ line, column, stage, rule, path }) => ({
        ...(path[0] === 'files' && { file: body.files[Number(path[1])]?.path ?? '' }),
        line,
        column,
        message: `was rejected at the stage "${stage}" (${rule})`,
      })),
    ]
    return {
      body: {
        data: {
          valid: skill !== undefined,
          faults: all,
          warnings,
          name: skill?.frontMatter.name ?? null,
          description: skill?.frontMatter.description ?? null,
          misrepresents: (skill?.undeclaredTools.length ?? 0) > 0,
          undeclared_tools: skill?.undeclaredTools ?? [],
          quality_score: skill?.quality ?? null,
          ...(skill && placesOf(skill)),
        },
      },
      resourceId: 'validate',
    }
  })

const readOne = ({ db, erasures }: Pick<SkillServiceDeps, 'db' | 'erasures'>) =>
  read(readSkill, async (ctx, { params: { id } }) => {
    const [row] = await visibleSkill(db, { id, ...knowledgeReaderOf(ctx) })
    if (!row) throw await erasedOrNotFound(erasures, ctx, id)
    return { body: { data: wholeSkillOf(row) }, resourceId: id, headers: { ETag: skillEtag(row.version) } }
  })

const correct = ({ db, erasures, strict, names }: SkillServiceDeps) =>
  mutation(correctSkill, async (ctx, { params: { id }, headers, body }) => {
    const row = await changeable({ erasures }, ctx, id)
    if (!passes(headers['if-match'], row.version))
      throw new Problem(
        'precondition_failed',
        'The skill has changed since you read it, so nothing was changed. Read it again.',
      )
    const sent = { skill_md: body.skill_md ?? row.document, files: body.files ?? row.files }
    const { skill, warnings, found } = recordingRejection(db, ctx.actor.id, ctx.now, () =>
      prepareSkill(sent, boundsOf(strict, ctx)),
    )
    const visibility = body.visibility ?? row.visibility
    const isOwn = ctx.actor.agents.includes(row.agent_id)
    guardRecord(ctx, 'publish', { isOwn, from: row.visibility, to: visibility })
    const isHeld = await isUnderReview(ctx.tx, { author: row.agent_id, actorId: ctx.actor.id }, ctx.now)
    const after = await replaceSkill(ctx.tx, row, skill, { visibility, isHeld, now: ctx.now })
    if (!after) throw nameInUse(skill.frontMatter.name)
    await withdrawAnswers(ctx.tx, id)
    const reported = isHeld ? [...warnings, quarantinedForReview] : warnings
    // A token without the scope `read` gets only the texts that it sent.
    const mayRead = ctx.actor.can('skills:read')
    const data = {
      ...wholeSkillOf(after),
      ...(!mayRead && body.skill_md === undefined && { kp: null, skill_md: '' }),
      ...(!mayRead && body.files === undefined && { files: [] }),
    }
    return namedAfterCommit(
      names,
      { value: skillTextsOf(skill), found },
      {
        body: { data, ...(reported.length > 0 && { warnings: reported }), ...placesOf(skill) },
        resourceId: id,
        details: { fields: Object.keys(body), sanitized: skill.sanitized },
        headers: { ETag: skillEtag(after.version) },
      },
    )
  })

const erase = ({ erasures }: Pick<SkillServiceDeps, 'erasures'>) =>
  mutation(eraseSkill, async (ctx, { params: { id }, headers }) => {
    const { agents, isAdmin } = ctx.actor
    const [row] = await lockErasableSkill(ctx.tx, { id, agents, isAdmin })
    if (!row) throw await erasedOrNotFound(erasures, ctx, id, ctx.tx)
    const { agent_id: author, version, was_public: wasPublic } = row
    guardRecord(ctx, 'erase-words', { isOwn: agents.includes(author) })
    return eraseRow(erasures, ctx, { kind: 'skill', id, author, version, wasPublic }, headers)
  })

/** Lists skills visible to the reader: ranked and with snippets if `q` is given, otherwise newest first. */
const listing =
  (db: Database) =>
  async (ctx: Context, { query }: Input<typeof listSkills>): Promise<Reply<Output<typeof listSkills>>> => {
    const { tags, q, min_quality, from, to } = query
    const filters = { tags: tags?.length ? tags : undefined, min_quality, from, to }
    const listed = q === undefined ? listedSkills : listedSkillsWithTexts
    const found = await searchPage<SkillRow & { texts?: string[] }>(db, ctx, query, { listed, filters })
    const { rows, terms, corrected, ...page } = found
    return {
      body: {
        data: rows.map(({ row, score }) => {
          const [document = '', ...contents] = row.texts ?? []
          const files = contents.map((content) => ({ path: '', content }))
          return {
            ...summaryOf(row),
            ...(score !== undefined && {
              score,
              snippet: snippetOf(skillTexts(row.front_matter, document, files), terms),
            }),
          }
        }),
        ...page,
        ...(corrected.length > 0 && { corrected }),
      },
      resourceId: 'query',
      details: { count: rows.length, total: page.total, corrected: corrected.length },
    }
  }

/** Skills: SKILL.md and its files. */
export const skillsService = (deps: SkillServiceDeps) => ({
  list: read(listSkills, listing(deps.db)),
  contribute: contribute(deps),
  validate: validate(deps),
  read: readOne(deps),
  correct: correct(deps),
  erase: erase(deps),
})
