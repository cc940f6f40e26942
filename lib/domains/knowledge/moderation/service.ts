import type { Context, Transaction } from '#lib/kernel/context.ts'
import { requireStorable } from '#lib/kernel/data-regions.ts'
import { pageOf, parseCursor } from '#lib/kernel/pages.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { ownerKey } from '../repository.ts'
import { award } from '../reputation/service.ts'
import { rejectionsToQuarantine, rejectionWindow, reportsToQuarantine } from '../rules.ts'
import { erasedOrNotFound, type KnowledgeDeps, knowledgeReaderOf, recordingRejection } from '../stored-unit.ts'
import { plainText } from '../votes/service.ts'
import { bornBefore, hashedNetwork } from '../votes/vote-identity.ts'
import { listQuarantine, reportUnit, reviewQuarantined, summariseRejections } from './contract.ts'
import {
  countedTo,
  countQuarantined,
  insertReport,
  lockForReview,
  lockUnitForReport,
  quarantinePage,
  quarantineUnits,
  rejectionsByAgent,
  rejectionsByPoint,
  releaseFromQuarantine,
  reportedUnits,
} from './repository.ts'
import { rejectionPeriods, rejectionPointsOf, rejectionStatusOf } from './safety-rules.ts'

/** Quarantines reported units with enough reporters: one unit, or all. Returns newly quarantined units and their numbers of reporters. */
export async function quarantineReported(
  tx: Transaction,
  unit: string | null,
  now: Date,
): Promise<{ id: string; reporters: number }[]> {
  const records = await reportedUnits(tx, { unit, oldEnough: bornBefore(now) })
  const due = records.filter(({ reporters }) => reporters >= reportsToQuarantine)
  if (due.length === 0) return []
  const quarantined = await quarantineUnits(tx, { ids: due.map(({ id }) => id), now })
  const ids = new Set(quarantined.map(({ id }) => id))
  return due.filter(({ id }) => ids.has(id))
}

/** Audit entry for a unit quarantined by reports; does not name the reporters. */
export const quarantineEntry = ({ id, reporters }: { id: string; reporters: number }) => ({
  resourceId: id,
  resourceType: 'knowledge',
  action: 'update' as const,
  actorId: 'system:knowledge.quarantine' as const,
  details: { fields: ['quarantined_at'], reporters },
})

/** Returns the reporter: an agent, or a person with write permission. Auditors and anonymous users cannot report. */
function reporterOf({ actor }: Context): string {
  const [agent] = actor.agents
  if (actor.kind === 'agent' && agent !== undefined) return agent
  if (actor.kind === 'person' && actor.can('knowledge:write')) return actor.id
  throw actor.kind === 'anonymous'
    ? new Problem('token_missing')
    : new Problem('forbidden', 'Auditors cannot report units. Ask an admin to review this unit.')
}

export const reporting = ({
  db,
  erasures,
  strict,
  networkKey,
}: Pick<KnowledgeDeps, 'db' | 'erasures' | 'strict' | 'networkKey'>) =>
  mutation(reportUnit, async (ctx, { params: { id }, body }) => {
    const reporter = reporterOf(ctx)
    requireStorable(ctx.pipeline.regions, ctx.actor.region, 'outside_region')
    const { tx, now, ip } = ctx
    const [row] = await lockUnitForReport(tx, { ...knowledgeReaderOf(ctx), id, reporter })
    if (!row) throw await erasedOrNotFound(erasures, ctx, id, tx)
    const { text: reason } = recordingRejection(db, reporter, now, () => plainText(body.reason, 'reason', strict))
    const owner = ownerKey(reporter, row.owner_id)
    const isUnclaimed = owner === reporter && ctx.actor.kind === 'agent'
    const network = isUnclaimed ? hashedNetwork(ip, networkKey()) : null
    const isFirst = (await insertReport(tx, { unit: id, reporter, owner, reason, network, now })) > 0
    const quarantined = isFirst && !row.quarantined ? await quarantineReported(tx, id, now) : []
    return {
      body: { data: { id, reported: true as const } },
      resourceId: id,
      entries: isFirst ? [{ resourceId: id }, ...quarantined.map(quarantineEntry)] : [],
    }
  })

/** Quarantined records, and the admin's decisions about them. */
export const review = ({ db }: Pick<KnowledgeDeps, 'db'>) => ({
  list: read(listQuarantine, async (_ctx, { query: { cursor, limit } }) => {
    const after = parseCursor(cursor)
    const [records, [count]] = await Promise.all([
      quarantinePage(db, { at: after?.at ?? null, id: after?.id ?? null, limit: limit + 1 }),
      countQuarantined(db, {}),
    ])
    const { shown, page } = pageOf(records, limit, Math.min(count?.n ?? 0, countedTo), ({ quarantined_at, id }) => ({
      at: quarantined_at,
      id,
    }))
    return {
      body: {
        data: shown.map(({ quarantined_at, reports, ...row }) => ({
          ...row,
          quarantined_at,
          reports: reports.map(({ reason, reported_at }) => ({
            reason,
            reported_at: new Date(reported_at),
          })),
        })),
        ...page,
      },
      resourceId: 'list',
      details: { count: shown.length },
    }
  }),

  decide: mutation(reviewQuarantined, async ({ tx, now }, { params: { id }, body: { decision } }) => {
    const isSkill = id.startsWith('kp:skill:')
    const kind = isSkill ? 'skill' : 'unit'
    const [row] = await lockForReview(tx, { id }, kind)
    if (!row) throw new Problem('not_found', 'No unit or skill with this id exists.')
    if (!row.quarantined) throw new Problem('conflict', 'This record is not in quarantine. Nothing was changed.')
    const open = { where: { unitId: id, settledAt: null }, data: { settledAt: now } }
    const settled = isSkill ? 0 : (await tx.unitReport.updateMany(open)).count
    const isReleased = decision === 'release'
    if (isReleased) {
      await releaseFromQuarantine(tx, { id }, kind)
      // Records quarantined from the start earn reputation only now. Others keep their one ledger row, and imported records earn none.
      if (!row.imported)
        await award(tx, row.agent_id, isSkill ? 'skill' : row.type === 'ExpertSOP' ? 'sop' : 'unit', [id], now)
    }
    return {
      body: { data: { id, decision, quarantined: !isReleased } },
      resourceId: id,
      resourceType: isSkill ? 'skill' : 'knowledge',
      details: { decision, reports: settled },
    }
  }),
})

/** Admin views of content safety, apart from the quarantine list. */
export const safetyService = (db: Database) => ({
  rejections: read(summariseRejections, async ({ now }, { query: { period } }) => {
    const starts = rejectionPointsOf(period, now)
    const since = starts[0] ?? now
    const { step } = rejectionPeriods[period]
    const [counted, agents] = await Promise.all([
      rejectionsByPoint(db, { since, until: now, step }),
      rejectionsByAgent(db, { since, recent: new Date(now.getTime() - rejectionWindow), until: now }),
    ])
    const sums: Record<string, number> = {}
    const points = starts.map((at) => ({ at, total: 0, by_stage: {} as Record<string, number> }))
    for (const { point, stage, n } of counted) {
      sums[stage] = (sums[stage] ?? 0) + n
      const into = points[point]
      if (!into) continue
      into.total += n
      into.by_stage[stage] = n
    }
    return {
      body: {
        data: {
          period,
          step: step === 3_600_000 ? ('hour' as const) : ('day' as const),
          total: Object.values(sums).reduce((sum, n) => sum + n, 0),
          by_stage: sums,
          points,
          agents_total: agents[0]?.agents ?? 0,
          agents: agents.map(({ agent_id, total, lately, last_at, by_stage }) => ({
            agent_id,
            total,
            by_stage,
            last_at,
            last_hour: lately,
            standing: rejectionStatusOf(lately),
          })),
          threshold: rejectionsToQuarantine,
        },
      },
      resourceId: 'summary',
      details: { period },
    }
  }),
})
