import { award } from '#lib/domains/knowledge/reputation/award.ts'
import type { KnowledgeDeps } from '#lib/domains/knowledge/units/stored-unit.ts'
import { pageOf, parseCursor } from '#lib/kernel/pages.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import { listQuarantine, reviewQuarantined } from './contract.ts'
import {
  countedTo,
  countQuarantined,
  lockForReview,
  quarantinePage,
  releaseFromQuarantine,
  settleReports,
} from './repository.ts'

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
          quarantined_at: quarantined_at.toISOString(),
          reports: reports.map(({ reason, reported_at }) => ({
            reason,
            reported_at: new Date(reported_at).toISOString(),
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
    const settled = isSkill ? 0 : await settleReports(tx, { unit: id, now })
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
