import { z } from 'zod'
import { erasedOf, erasedSubjects, receiptFinder } from '#lib/domains/erasure/queries.ts'
import { withdrawAnswers } from '#lib/domains/idempotency/writes.ts'
import { sharedQuestion } from '#lib/kernel/concurrency.ts'
import type { MutationContext } from '#lib/kernel/context.ts'
import type { EvidenceCheck } from '#lib/kernel/evidence.ts'
import { job } from '#lib/kernel/job.ts'
import type { PersonalData } from '#lib/kernel/module.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { guardRecord, issuesOf, mutation, read } from '#lib/kernel/use-case.ts'
import type { Ledger } from '#lib/stores/ledger/ledger.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { eraseUnit, readUnit, rectifyUnit, Unit } from './contract.ts'
import {
  batchContribution,
  checking,
  contribution,
  type PreparedUnit,
  prepareUnit,
  quarantinedForReview,
} from './contribution.ts'
import { referenceDecisions, referencesDataSource } from './erasure/references.ts'
import { expertsOfStoredVersions, lockErasableUnit } from './erasure/repository.ts'
import type { AuthorPseudonym, ErasedAgents } from './erasure/suppression.ts'
import { knowledgeExporters } from './exporters.ts'
import { skillImporter, unitImporter } from './imports.ts'
import { inspection, records } from './inspection/service.ts'
import { changedPaths, isJsonObject, type JsonMembers, mergePatch } from './merge-patch.ts'
import { quarantineEntry, quarantineReported, reporting, review, safetyService } from './moderation/service.ts'
import {
  knowledgeExpiry,
  rejectionsDataSource,
  reputationDataSource,
  searchWordsDataSource,
  skillDataSource,
  unitDataSource,
  voteDataSources,
} from './personal-data.ts'
import {
  lockCorrectableUnit,
  rewriteCurrentVersion,
  rewriteUnit,
  type UnitRequest,
  type UnitRow,
  visibleUnits,
} from './repository.ts'
import { reputationService } from './reputation/service.ts'
import { noveltyAtFirst, qualityOf, rejectionRetention, scoreOf, warningsOf } from './rules.ts'
import { searchJobs } from './search/jobs.ts'
import { searchService } from './search/paging.ts'
import { skillsService } from './skills/service.ts'
import { sopsService } from './sops/service.ts'
import {
  type ChosenIdPorts,
  erasedOrNotFound,
  eraseRow,
  etagOf,
  isUnderReview,
  type KnowledgeDeps,
  knowledgeReaderOf,
  namedAfterCommit,
  passes,
  recordingRejection,
  shown,
} from './stored-unit.ts'
import { dropVotes, voting, weighWaitingVotes } from './votes/service.ts'

/** Maximum number of paths in an audit entry. */
const maxNamed = 50

const refuseMember = (path: string[], what: string) =>
  new Problem('invalid', {
    detail: `${what} cannot be changed. Erase the unit and contribute another.`,
    issues: [{ path: ['unit', ...path], message: 'cannot be changed' }],
  })

interface Correction {
  unit?: JsonMembers | undefined
  visibility?: string | undefined
}
/**
 * Applies the correction to the document.
 * @throws {Problem} `invalid` for fields that cannot change, and if the two ways to set the visibility disagree
 */
function corrected(
  row: Pick<UnitRow, 'id' | 'document' | 'visibility'> & { agent_id: string },
  { unit = {}, visibility }: Correction,
): JsonMembers {
  const patched = mergePatch(row.document, unit)
  const { metadata } = patched
  if (patched['@type'] !== row.document['@type']) throw refuseMember(['@type'], 'The type of a unit')
  if (patched.id !== row.id) throw refuseMember(['id'], 'The id of a unit')
  if (!isJsonObject(metadata)) return patched
  if (metadata.agent_id !== row.agent_id) throw refuseMember(['metadata', 'agent_id'], 'The author of a unit')
  if (visibility === undefined) return patched
  if (metadata.visibility !== row.visibility && metadata.visibility !== visibility)
    throw new Problem('invalid', {
      detail: 'The request contains two different visibilities. Send one.',
      issues: [{ path: ['visibility'], message: 'differs from unit.metadata.visibility' }],
    })
  return { ...patched, metadata: { ...metadata, visibility } }
}

function validated(value: unknown): Unit {
  const parsed = Unit.safeParse(value)
  if (parsed.success) return parsed.data
  const issues = issuesOf(parsed.error, ['unit'])
  throw new Problem('invalid', {
    detail: 'The corrected unit is not valid. The unit was not changed.',
    issues: issues.slice(0, 100),
  })
}

/** A correction must not exceed the size limit of contributions, but one that does not make the unit larger is always accepted. */
function refuseLarger({ actor }: MutationContext, before: Unit, after: PreparedUnit): void {
  const max = actor.quota.unitBytes
  const bytes = Buffer.byteLength(after.json)
  if (bytes > max && bytes > Buffer.byteLength(JSON.stringify(before)))
    throw new Problem(
      'too_large',
      `With this correction, the unit is larger than the ${max.toLocaleString('en')} bytes that your tier allows. The unit was not changed.`,
    )
}

/** Rewrites the row and an SOP's current version, removing its approval, which was for the old text. Quarantines the unit if `isHeld`. */
async function rewrite(
  { tx, now }: MutationContext,
  unit: PreparedUnit,
  { quality, isHeld }: { quality: number; isHeld: boolean },
): Promise<number> {
  const { id, json: document, domain, attributedTo, visibility, search, instructions } = unit
  const [row] = await rewriteUnit(tx, {
    id,
    document,
    domain,
    attributedTo,
    visibility,
    search,
    instructions,
    quality,
    isHeld,
    now,
  })
  if (!row) throw new Error('A locked unit does not exist.')
  if (unit.type === 'ExpertSOP') await rewriteCurrentVersion(tx, { unit: id, document })
  return row.version
}

/** Rectification (GDPR art. 16): incorrect data is overwritten everywhere and not kept as a former version. */
const rectification = ({ db, erasures, strict, names }: KnowledgeDeps) =>
  mutation(rectifyUnit, async (ctx, { params: { id }, headers, body }) => {
    const { agents, isAdmin, id: actorId } = ctx.actor
    const [row] = await lockCorrectableUnit(ctx.tx, { id, agents, isAdmin })
    if (!row) throw await erasedOrNotFound(erasures, ctx, id, ctx.tx)
    if (!passes(headers['if-match'], row.version))
      throw new Problem(
        'precondition_failed',
        'The unit has changed since you read it, so nothing was corrected. Read it again.',
      )
    const unit = recordingRejection(db, actorId, ctx.now, () =>
      prepareUnit(validated(corrected(row, body)), { author: row.agent_id, strict }),
    )
    guardRecord(ctx, 'publish', { isOwn: agents.includes(row.agent_id), from: row.visibility, to: unit.visibility })
    refuseLarger(ctx, row.document, unit)
    const changed = changedPaths(row.document, unit.document).sort()
    const reported = (warnings: readonly string[]) => ({
      ...(warnings.length > 0 && { warnings: [...warnings] }),
      ...(unit.sanitizedPlaces.length > 0 && { sanitized: unit.sanitizedPlaces }),
    })
    // Changing the visibility alone must not read the unit.
    const answered = ({ unit, ...rest }: ReturnType<typeof shown>) =>
      ctx.actor.can('knowledge:read') ? { ...rest, unit } : rest
    const texts = { value: unit.document, found: unit.found }
    if (changed.length === 0)
      return namedAfterCommit(names, texts, {
        body: { data: answered(shown(row)), quality_score: row.quality_score, ...reported(unit.warnings) },
        resourceId: id,
        details: { fields: [] },
        headers: { ETag: etagOf({ version: row.version, quality: row.quality_score }) },
      })
    // Votes judged the old text; a change of visibility does not affect them.
    const isSameText = changed.every((path) => path === 'metadata.visibility')
    const quality = isSameText
      ? scoreOf(qualityOf(unit.document, row.novelty ?? noveltyAtFirst), {
          for: row.votes_for,
          against: row.votes_against,
        })
      : await dropVotes(ctx.tx, id, unit.document)
    const isHeld = await isUnderReview(ctx.tx, { author: row.agent_id, actorId }, ctx.now)
    const version = await rewrite(ctx, unit, { quality, isHeld })
    await withdrawAnswers(ctx.tx, id)
    const after: UnitRow = {
      ...row,
      document: unit.document,
      visibility: unit.visibility,
      quality_score: quality,
      instructions: unit.instructions,
      version,
      updated_at: ctx.now,
    }
    return namedAfterCommit(names, texts, {
      body: {
        data: answered(shown(after)),
        quality_score: quality,
        ...reported(isHeld ? [...unit.warnings, quarantinedForReview] : unit.warnings),
      },
      resourceId: id,
      details: { fields: changed.slice(0, maxNamed), changed: changed.length, sanitized: unit.sanitized },
      headers: { ETag: etagOf({ version, quality }) },
    })
  })

function knowledgeService(deps: KnowledgeDeps) {
  const { db, erasures } = deps
  const visible = sharedQuestion<Omit<UnitRequest, 'n'>, UnitRow | undefined>(async (requests) => {
    const rows = await visibleUnits(db, { requests: requests.map((request, n) => ({ n, ...request })) })
    const byNumber = new Map(rows.map((row) => [row.n, row]))
    return requests.map((_, n) => byNumber.get(n))
  })
  const { list, decide } = review(deps)

  return {
    contribute: contribution(deps),
    contributeBatch: batchContribution(deps),
    check: checking(deps),
    rectify: rectification(deps),
    validate: voting(deps),
    report: reporting(deps),
    quarantine: list,
    review: decide,

    read: read(readUnit, async (ctx, { params: { id } }) => {
      const row = await visible({ id, ...knowledgeReaderOf(ctx) })
      if (!row) throw await erasedOrNotFound(erasures, ctx, id)
      const { version, quality_score: quality } = row
      return { body: { data: shown(row) }, resourceId: id, headers: { ETag: etagOf({ version, quality }) } }
    }),

    erase: mutation(eraseUnit, async (ctx, { params: { id }, headers }) => {
      const { agents, isAdmin } = ctx.actor
      const [row] = await lockErasableUnit(ctx.tx, { id, agents, isAdmin })
      if (!row) throw await erasedOrNotFound(erasures, ctx, id, ctx.tx)
      const { agent_id: author, attributed_to, original_author, version, was_public: wasPublic } = row
      guardRecord(ctx, 'erase-words', { isOwn: agents.includes(author) })
      const attributedTo = [attributed_to, original_author, ...(await expertsOfStoredVersions(ctx.tx, id))]
      return eraseRow(erasures, ctx, { kind: 'unit', id, author, attributedTo, version, wasPublic }, headers)
    }),
  }
}

const knowledgeJobs = (db: Database) => [
  job({
    name: 'knowledge.forget-rejections',
    payload: z.unknown(),
    cron: '31 * * * *',
    async run(ctx) {
      const before = new Date(ctx.now.getTime() - rejectionRetention)
      await db.prisma.contentRejection.deleteMany({ where: { at: { lt: before } } })
    },
  }),
  job({
    // Reports by unclaimed agents count from the agent's second day; no request may happen then to trigger the check.
    name: 'knowledge.weigh-reports',
    payload: z.unknown(),
    cron: '7 * * * *',
    run: (ctx) =>
      ctx.pipeline.transaction(async (tx) => {
        const quarantined = await quarantineReported(tx, null, ctx.now)
        const entries = quarantined.map((unit) => ({ ...quarantineEntry(unit), at: ctx.now, ip: '' }))
        await ctx.pipeline.auditWithin(tx, ...entries)
      }),
  }),
  job({
    // The same applies to votes of unclaimed agents, and to votes of agents claimed since.
    name: 'knowledge.weigh-votes',
    payload: z.unknown(),
    cron: '11 * * * *',
    async run(ctx) {
      await weighWaitingVotes(db, ctx.now)
    },
  }),
]

export const knowledgeData = ({ db, pseudonymOf }: { db: Database; pseudonymOf: AuthorPseudonym }): PersonalData => ({
  dataSources: [
    // Index words are removed while the rows that contain them exist.
    searchWordsDataSource(db),
    ...voteDataSources(db),
    referencesDataSource(db, pseudonymOf),
    rejectionsDataSource(db),
    unitDataSource(db),
    skillDataSource(db),
    reputationDataSource(db),
  ],
  exporters: knowledgeExporters(db),
  expiring: knowledgeExpiry(db),
})

/** Number of newest units checked per visibility, which bounds the cost. */
const looked = 200

/** Data minimisation (GDPR art. 5(1)(c)): recent contributions, checked again with the contribution rules. */
const knowledgeEvidence = (): EvidenceCheck[] => [
  {
    line: 'minimisation',
    name: 'knowledge.warnings',
    page: null,
    async ask(query) {
      const rows = await query<{ document: unknown }>(
        `SELECT n.document FROM unnest(enum_range(NULL::visibility)) AS v (visibility)
         CROSS JOIN LATERAL (SELECT document, created_at FROM units u WHERE u.visibility = v.visibility ORDER BY created_at DESC LIMIT $1) AS n
         ORDER BY n.created_at DESC LIMIT $1`,
        [looked],
      )
      const warned = rows.filter(({ document }) => {
        const unit = Unit.safeParse(document)
        return !unit.success || warningsOf(unit.data).length > 0
      }).length
      return { state: warned > 0 ? 'attention' : 'holds', numbers: { looked: rows.length, warned } }
    },
  },
]

/** Units, skills and procedures that agents share, with search, reputation and safety. */
export function knowledgeModule({
  keyFor,
  recognise,
  records: erasures,
  ledger,
  facts,
  ...parts
}: Omit<KnowledgeDeps, 'chosenIds' | 'erasures' | 'names' | 'networkKey'> & {
  keyFor(purpose: string): () => Uint8Array
  recognise: KnowledgeDeps['names']
  /** Erases single units and skills. */
  records: Omit<KnowledgeDeps['erasures'], 'receiptFor'>
  ledger: Pick<Ledger, 'append' | 'read'>
  facts: { backupDays: number | undefined }
  pseudonymOf: AuthorPseudonym
  erasedAgents: ErasedAgents
  outsideNamespace: ChosenIdPorts['outsideNamespace']
}) {
  const { db } = parts
  const deps = {
    ...parts,
    chosenIds: { outsideNamespace: parts.outsideNamespace, erasedOf },
    names: recognise,
    networkKey: keyFor('report networks'),
    erasures: { ...erasures, receiptFor: receiptFinder(db) },
    erasedSubject: erasedSubjects({ ledger, backupDays: facts.backupDays }),
    appendToLedger: (id: string, holder: string, items: readonly string[]) =>
      ledger.append({ kind: 'items', id, holder, items }),
  }
  return {
    useCases: {
      safety: safetyService(db),
      search: searchService(db),
      knowledge: knowledgeService(deps),
      skills: skillsService(deps),
      references: referenceDecisions(deps),
      inspection: { ...inspection(deps), ...records(deps) },
      reputation: reputationService(db),
      sops: sopsService(deps),
    },
    jobs: [...searchJobs(db), ...knowledgeJobs(db)],
    checks: knowledgeEvidence(),
    importers: [unitImporter(deps), skillImporter(deps)],
  }
}
