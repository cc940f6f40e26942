import { sharedQuestion } from '#lib/kernel/shared-question.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import { batch } from './batch.ts'
import { eraseUnit, readUnit } from './contract.ts'
import { contribution } from './contribution.ts'
import { eraseRow } from './erasing.ts'
import { expertsOfWordings } from './held.ts'
import { rectification } from './rectification.ts'
import { reporting } from './reports.ts'
import { review } from './review.ts'
import { goneOrNever, type KnowledgeParts, shown, type UnitRow, unitColumns } from './stored-unit.ts'
import { etagOf, type Reader, readerOf, visibleTo } from './visibility.ts'
import { voting } from './votes.ts'

/**
 * Reads units for many readers at once, each with its own access rights. Uses one index lookup per reader, even while the planner considers
 * the table small.
 */
const selectVisible = `SELECT q.n, found.*
  FROM json_to_recordset($1::json) AS q(n int, id text, agents text[], organisation text, admin boolean)
  CROSS JOIN LATERAL (
    SELECT ${unitColumns} FROM units u WHERE u.id = q.id AND ${visibleTo('q.agents', 'q.organisation', 'q.admin')} LIMIT 1) AS found`

interface ErasableRow {
  agent_id: string
  attributed_to: string | null
  original_author: string | null
  version: number
  was_public: boolean
}
interface Reading extends Reader {
  id: string
}

export function knowledgeService(parts: KnowledgeParts) {
  const { db, erasures } = parts
  const visible = sharedQuestion<Reading, UnitRow | undefined>(async (readings) => {
    const asked = JSON.stringify(readings.map((reading, n) => ({ n, ...reading })))
    const byNumber = new Map(
      (await db.query<UnitRow & { n: number }>('read-unit', selectVisible, [asked])).map((row) => [row.n, row]),
    )
    return readings.map((_, n) => byNumber.get(n))
  })
  const { list, decide } = review(parts)

  return {
    contribute: contribution(parts),
    contributeBatch: batch(parts),
    rectify: rectification(parts),
    validate: voting(parts),
    report: reporting(parts),
    quarantine: list,
    review: decide,

    read: read(readUnit, async (ctx, { params: { id } }) => {
      const row = await visible({ id, ...readerOf(ctx) })
      if (!row) throw await goneOrNever(erasures, ctx, id)
      const { version, quality_score: quality } = row
      return { body: { data: shown(row) }, resourceId: id, headers: { ETag: etagOf({ version, quality }) } }
    }),

    erase: mutation(eraseUnit, async (ctx, { params: { id }, headers }) => {
      const { agents, isAdmin } = ctx.actor
      const [row] = await ctx.tx.$queryRaw<ErasableRow[]>`
        SELECT agent_id, attributed_to, original_author, version, was_public OR visibility = 'network' AS was_public
        FROM units WHERE id = ${id} AND (agent_id = ANY(${[...agents]}::text[]) OR ${isAdmin}) FOR UPDATE`
      if (!row) throw await goneOrNever(erasures, ctx, id, ctx.tx)
      const { agent_id: author, attributed_to, original_author, version, was_public: wasPublic } = row
      const attributedTo = [attributed_to, original_author, ...(await expertsOfWordings(ctx.tx, id))]
      return eraseRow(erasures, ctx, { kind: 'unit', id, author, attributedTo, version, wasPublic }, headers)
    }),
  }
}
