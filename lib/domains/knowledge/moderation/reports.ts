import { reportsToQuarantine } from '#lib/domains/knowledge/rules.ts'
import { goneOrNotFound, type KnowledgeDeps } from '#lib/domains/knowledge/units/stored-unit.ts'
import { knowledgeReaderOf, ownerKey, visibleTo } from '#lib/domains/knowledge/visibility.ts'
import { bornBefore, hashedNetwork, isHeardSql, voiceSql } from '#lib/domains/knowledge/votes/voices.ts'
import { plainText } from '#lib/domains/knowledge/votes/votes.ts'
import type { Context, Transaction } from '#lib/kernel/context.ts'
import { requireStorable } from '#lib/kernel/data-regions.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { mutation } from '#lib/kernel/use-case.ts'
import { reportUnit } from './contract.ts'
import { recordingRejection } from './rejections.ts'

/** Locks the unit, so that its reports are counted one after another. */
const selectReported = `SELECT u.quarantined_at IS NOT NULL AS quarantined,
    (SELECT owner_id FROM agent_owners WHERE id = $5) AS owner_id
  FROM units u WHERE u.id = $1 AND ${visibleTo('$2::text[]', '$3', '$4::boolean')} FOR NO KEY UPDATE OF u`

/** Units with enough reporters for quarantine. */
const selectDue = `SELECT r.unit_id AS id, count(DISTINCT ${voiceSql('r', 'r.reporter_id', 'a')})::int AS reporters
  FROM unit_reports r LEFT JOIN agent_owners a ON a.id = r.reporter_id
  WHERE r.settled_at IS NULL AND ($1::text IS NULL OR r.unit_id = $1)
    AND ${isHeardSql('r.reporter_id', 'a', '$2')}
  GROUP BY r.unit_id HAVING count(*) >= $3::int`

/** Quarantines reported units with enough reporters: one unit, or all. Returns newly quarantined units and their numbers of reporters. */
export async function quarantineReported(
  tx: Transaction,
  unitId: string | null,
  now: Date,
): Promise<{ id: string; reporters: number }[]> {
  const records = await tx.$queryRawUnsafe<{ id: string; reporters: number }[]>(
    selectDue,
    unitId,
    bornBefore(now),
    reportsToQuarantine,
  )
  const due = records.filter(({ reporters }) => reporters >= reportsToQuarantine)
  if (due.length === 0) return []
  const held = await tx.$queryRaw<{ id: string }[]>`
    UPDATE units SET quarantined_at = ${now} WHERE id IN (
      SELECT id FROM units WHERE id = ANY(${due.map(({ id }) => id)}::text[]) AND quarantined_at IS NULL ORDER BY id FOR NO KEY UPDATE)
    RETURNING id`
  const ids = new Set(held.map(({ id }) => id))
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
    : new Problem('forbidden', 'Auditors change nothing; ask an admin to look at it.')
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
    const { agents, organisation, admin } = knowledgeReaderOf(ctx)
    const [row] = await tx.$queryRawUnsafe<{ quarantined: boolean; owner_id: string | null }[]>(
      selectReported,
      id,
      [...agents],
      organisation ?? null,
      admin,
      reporter,
    )
    if (!row) throw await goneOrNotFound(erasures, ctx, id, tx)
    const { text: reason } = recordingRejection(db, reporter, now, () => plainText(body.reason, 'reason', strict))
    const owner = ownerKey(reporter, row.owner_id)
    const isUnclaimed = owner === reporter && ctx.actor.kind === 'agent'
    const network = isUnclaimed ? hashedNetwork(ip, networkKey()) : null
    const isFirst = await tx.$executeRaw`
      INSERT INTO unit_reports (unit_id, reporter_id, owner_key, reason, network, at)
      VALUES (${id}, ${reporter}, ${owner}, ${reason}, ${network}, ${now}) ON CONFLICT DO NOTHING`
    const held = isFirst === 0 || row.quarantined ? [] : await quarantineReported(tx, id, now)
    return {
      body: { data: { id, reported: true as const } },
      resourceId: id,
      entries: isFirst === 0 ? [] : [{ resourceId: id }, ...held.map(quarantineEntry)],
    }
  })
