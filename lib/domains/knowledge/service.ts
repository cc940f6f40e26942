import { eraseRow } from '#lib/domains/knowledge/erasure/erase-record.ts'
import { expertsOfWordings } from '#lib/domains/knowledge/erasure/legal-holds.ts'
import { reporting } from '#lib/domains/knowledge/moderation/reports.ts'
import { review } from '#lib/domains/knowledge/moderation/review.ts'
import { batch } from '#lib/domains/knowledge/units/batch.ts'
import { checking, contribution } from '#lib/domains/knowledge/units/contribution.ts'
import { rectification } from '#lib/domains/knowledge/units/rectification.ts'
import type { UnitRow } from '#lib/domains/knowledge/units/repository.ts'
import { goneOrNotFound, type KnowledgeDeps, shown } from '#lib/domains/knowledge/units/stored-unit.ts'
import { voting } from '#lib/domains/knowledge/votes/votes.ts'
import { sharedQuestion } from '#lib/kernel/shared-query.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import { eraseUnit, readUnit } from './contract.ts'
import { lockErasableUnit } from './erasure/records/repository.ts'
import { type UnitRequest, visibleUnits } from './repository.ts'
import { etagOf, knowledgeReaderOf } from './visibility.ts'

export function knowledgeService(deps: KnowledgeDeps) {
  const { db, erasures } = deps
  const visible = sharedQuestion<Omit<UnitRequest, 'n'>, UnitRow | undefined>(async (requests) => {
    const rows = await visibleUnits(db, { requests: requests.map((request, n) => ({ n, ...request })) })
    const byNumber = new Map(rows.map((row) => [row.n, row]))
    return requests.map((_, n) => byNumber.get(n))
  })
  const { list, decide } = review(deps)

  return {
    contribute: contribution(deps),
    contributeBatch: batch(deps),
    check: checking(deps),
    rectify: rectification(deps),
    validate: voting(deps),
    report: reporting(deps),
    quarantine: list,
    review: decide,

    read: read(readUnit, async (ctx, { params: { id } }) => {
      const row = await visible({ id, ...knowledgeReaderOf(ctx) })
      if (!row) throw await goneOrNotFound(erasures, ctx, id)
      const { version, quality_score: quality } = row
      return { body: { data: shown(row) }, resourceId: id, headers: { ETag: etagOf({ version, quality }) } }
    }),

    erase: mutation(eraseUnit, async (ctx, { params: { id }, headers }) => {
      const { agents, isAdmin } = ctx.actor
      const [row] = await lockErasableUnit(ctx.tx, { id, agents, isAdmin })
      if (!row) throw await goneOrNotFound(erasures, ctx, id, ctx.tx)
      const { agent_id: author, attributed_to, original_author, version, was_public: wasPublic } = row
      const attributedTo = [attributed_to, original_author, ...(await expertsOfWordings(ctx.tx, id))]
      return eraseRow(erasures, ctx, { kind: 'unit', id, author, attributedTo, version, wasPublic }, headers)
    }),
  }
}
