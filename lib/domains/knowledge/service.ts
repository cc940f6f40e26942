import type { Context, Transaction } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { Receipt } from '#lib/kernel/receipt.ts'
import { sharedQuestion } from '#lib/kernel/shared-question.ts'
import { mutation, read, statement } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { contributeUnit, eraseUnit, readUnit } from './contract.ts'
import { prepareUnit } from './preparation.ts'
import { recordRejection } from './rejections.ts'
import { rejectionsToQuarantine, rejectionWindow } from './rules.ts'
import type { Unit } from './unit.ts'

/** What knowledge asks of erasure, which it does not know. */
export interface Erasures {
  begin(
    tx: Transaction,
    order: {
      scope: { unit: string }
      deletedId: string
      formerOwner: string
      requestedBy: string
      reason: string
      wasPublic: boolean
      now: Date
    },
  ): Promise<string>
  finish(receiptId: string): Promise<Receipt>
  receiptFor(deletedId: string, owners: readonly string[], tx?: Transaction): Promise<string | undefined>
}
export interface KnowledgeParts {
  db: Database
  erasures: Erasures
  strict: boolean
}

interface UnitRow {
  id: string
  document: Unit
  visibility: 'private' | 'org' | 'network'
  quality_score: number
  version: number
  created_at: Date
  updated_at: Date
}
const columns = 'u.id, u.document, u.visibility, u.quality_score, u.version, u.created_at, u.updated_at'

/**
 * Who sees a unit: its author and the author's owner always; others what is org or network, neither held for review nor its author's
 * processing restricted; an admin nothing private of others. Many readers' questions at once, each with its own rights;
 * one look into the index for each, also while the planner still thinks that the table is small.
 */
const selectVisible = `SELECT q.n, found.*
  FROM json_to_recordset($1::json) AS q(n int, id text, agents text[], organisation text, admin boolean)
  CROSS JOIN LATERAL (
    SELECT ${columns} FROM units u WHERE u.id = q.id AND (u.agent_id = ANY(q.agents) OR (
      (u.visibility = 'network' OR (u.visibility = 'org' AND (u.organisation_id = q.organisation OR q.admin)))
      AND u.quarantined_at IS NULL AND NOT EXISTS (SELECT FROM restricted_agents r WHERE r.id = u.agent_id)))
    LIMIT 1) AS found`

interface Reading {
  id: string
  agents: readonly string[]
  organisation: string | undefined
  admin: boolean
}

/** The author's agent and organisation are the token's; the count of refused contributions decides on quarantine. */
const insertUnit = `done AS (
  INSERT INTO units (id, type, agent_id, organisation_id, attributed_to, visibility, document, quality_score, quarantined_at, created_at, updated_at, domain, search)
  SELECT $1, $2::unit_type, $3, $4, $5, $6::visibility, $7::jsonb, $8::float8,
    CASE WHEN (SELECT count(*) FROM content_rejections c WHERE c.agent_id = $3 AND c.at > $10::timestamptz) >= $11::int THEN $9::timestamptz END,
    $9::timestamptz, $9::timestamptz, $12, $13::tsvector
  ON CONFLICT (id) DO NOTHING
  RETURNING id AS resource_id, quarantined_at IS NOT NULL AS quarantined)`

const heldForReview =
  'It is held for review, because several contributions were refused within the last hour; only you see it until then.'
const etagOf = (version: number): string => `"v${version}"`
const stored = (row: UnitRow) => ({
  id: row.id,
  unit: { ...row.document, id: row.id },
  visibility: row.visibility,
  quality_score: row.quality_score,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})
const prefersReceipt = (prefer: string | undefined): boolean =>
  /(?:^|,)\s*return\s*=\s*"?representation"?\s*(?:[,;]|$)/i.test(prefer ?? '')
const hasCode = (error: unknown, code: string): boolean =>
  error instanceof Error &&
  (('code' in error && error.code === code) || error.message.includes(code) || hasCode(error.cause, code))

export function knowledgeService({ db, erasures, strict }: KnowledgeParts) {
  const goneOrNever = async (ctx: Context, id: string, tx?: Transaction): Promise<Problem> => {
    const receiptId = await erasures.receiptFor(id, ctx.actor.agents, tx)
    return receiptId === undefined
      ? new Problem('not_found', 'There is no such unit, or it is not yours to see or to change.')
      : new Problem('erased', {
          detail: 'It was erased; the receipt says how.',
          extensions: { receipt_id: receiptId },
          headers: { Link: `</v1/receipts/${receiptId}>; rel="related"` },
        })
  }

  const visible = sharedQuestion<Reading, UnitRow | undefined>(async (readings) => {
    const asked = JSON.stringify(readings.map((reading, n) => ({ n, ...reading })))
    const byNumber = new Map(
      (await db.query<UnitRow & { n: number }>('read-unit', selectVisible, [asked])).map((row) => [row.n, row]),
    )
    return readings.map((_, n) => byNumber.get(n))
  })

  return {
    contribute: statement(contributeUnit, async (ctx, { body }) => {
      const [author] = ctx.actor.agents
      if (ctx.actor.kind !== 'agent' || author === undefined || ctx.actor.organisationId === undefined)
        throw new Problem('forbidden', 'Units are contributed by agents, with a token.')
      if (body.metadata.agent_id !== undefined && body.metadata.agent_id !== author)
        throw new Problem('forbidden', {
          detail: 'A unit’s author is the token’s agent.',
          issues: [{ path: ['metadata', 'agent_id'], message: 'is another agent' }],
        })
      const unit = await recordRejection(db, author, ctx.now, () => prepareUnit(body, { author, strict }))
      const now = ctx.now
      return {
        statement: {
          name: 'contribute-unit',
          ctes: insertUnit,
          values: [
            unit.id,
            unit.type,
            author,
            ctx.actor.organisationId,
            unit.attributedTo,
            unit.visibility,
            JSON.stringify(unit.document),
            unit.quality,
            now,
            new Date(now.getTime() - rejectionWindow),
            rejectionsToQuarantine,
            unit.domain,
            unit.search,
          ],
        },
        details: { type: unit.type, visibility: unit.visibility, sanitized: unit.sanitized },
        reply: ({ quarantined }) => {
          const warnings = quarantined === true ? [...unit.warnings, heldForReview] : unit.warnings
          return {
            body: {
              data: {
                id: unit.id,
                unit: unit.document,
                visibility: unit.visibility,
                quality_score: unit.quality,
                created_at: now.toISOString(),
                updated_at: now.toISOString(),
              },
              quality_score: unit.quality,
              ...(warnings.length > 0 && { warnings }),
            },
            headers: { Location: `/v1/knowledge/${unit.id}`, ETag: etagOf(1) },
          }
        },
        nothing: async () =>
          new Problem(
            'id_in_use',
            'A unit with this id is already here; nothing was changed. Leave the id out to get a new one.',
          ),
        translate: (error) =>
          hasCode(error, 'KP410')
            ? new Problem('erased', 'A unit with this id was erased here; the id is not taken again.')
            : error,
      }
    }),

    read: read(readUnit, async (ctx, { params: { id } }) => {
      const { agents, organisationId, isAdmin } = ctx.actor
      const row = await visible({ id, agents, organisation: organisationId, admin: isAdmin })
      if (!row) throw await goneOrNever(ctx, id)
      return { body: { data: stored(row) }, resourceId: id, headers: { ETag: etagOf(row.version) } }
    }),

    erase: mutation(eraseUnit, async (ctx, { params: { id }, headers }) => {
      const { agents, isAdmin } = ctx.actor
      const [row] = await ctx.tx.$queryRaw<{ agent_id: string; version: number; visibility: string }[]>`
        SELECT agent_id, version, visibility::text FROM units WHERE id = ${id} AND (agent_id = ANY(${[...agents]}::text[]) OR ${isAdmin}) FOR UPDATE`
      if (!row) throw await goneOrNever(ctx, id, ctx.tx)
      const match = headers['if-match']
      if (match !== undefined && match !== '*' && !match.split(',').some((tag) => tag.trim() === etagOf(row.version)))
        throw new Problem('precondition_failed', 'The unit has changed since you read it; nothing was erased.')
      const receiptId = await erasures.begin(ctx.tx, {
        scope: { unit: id },
        deletedId: id,
        formerOwner: row.agent_id,
        requestedBy: ctx.actor.id,
        reason: agents.includes(row.agent_id) ? 'user_request' : 'admin_request',
        wasPublic: row.visibility === 'network',
        now: ctx.now,
      })
      const headersOut = {
        'X-Deletion-Receipt': receiptId,
        Link: `</v1/receipts/${receiptId}>; rel="related"; title="deletion receipt"`,
      }
      return {
        body: undefined,
        status: 204,
        resourceId: id,
        details: { receipt: receiptId },
        headers: headersOut,
        afterCommit: async () => {
          const receipt = await erasures.finish(receiptId).catch((cause: unknown) => {
            throw new Problem('unavailable', {
              detail:
                'The unit is erased, but that could not be verified yet; it is tried again without you. Ask for the receipt later.',
              headers: { ...headersOut, 'Retry-After': '60' },
              extensions: { receipt_id: receiptId },
              cause,
            })
          })
          return prefersReceipt(headers.prefer)
            ? { body: receipt, status: 200, headers: { ...headersOut, 'Preference-Applied': 'return=representation' } }
            : { body: undefined, status: 204, headers: headersOut }
        },
      }
    }),
  }
}
