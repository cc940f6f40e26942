import { reportsToQuarantine } from '#lib/domains/knowledge/rules.ts'
import { goneOrNotFound, type KnowledgeDeps } from '#lib/domains/knowledge/units/stored-unit.ts'
import { knowledgeReaderOf, ownerKey } from '#lib/domains/knowledge/visibility.ts'
import { bornBefore, hashedNetwork } from '#lib/domains/knowledge/votes/voices.ts'
import { plainText } from '#lib/domains/knowledge/votes/votes.ts'
import type { Context, Transaction } from '#lib/kernel/context.ts'
import { requireStorable } from '#lib/kernel/data-regions.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { mutation } from '#lib/kernel/use-case.ts'
import { reportUnit } from './contract.ts'
import { recordingRejection } from './rejections.ts'
import { insertReport, lockUnitForReport, quarantineUnits, reportedUnits } from './repository.ts'

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
    if (!row) throw await goneOrNotFound(erasures, ctx, id, tx)
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
