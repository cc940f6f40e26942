import { searchPage } from '#lib/domains/knowledge/search/paging.ts'
import { parseQuery } from '#lib/domains/knowledge/search/query.ts'
import { knowledgeReaderOf } from '#lib/domains/knowledge/visibility.ts'
import type { Context } from '#lib/kernel/context.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { inspectedSkill, inspectedUnit, skillSummaries, unitSummaries } from './repository.ts'

export interface FoundRecord {
  kind: 'unit' | 'skill'
  id: string
  title: string
  isOwn: boolean
}
type Row = Awaited<ReturnType<typeof unitSummaries.withIds>>[number]

const isSkillId = (id: string) => id.startsWith('kp:skill:')

/** The record with this id, if the reader may see it. */
async function recordWithId(db: Database, ctx: Context, id: string): Promise<Row[]> {
  const reader = { id, ...knowledgeReaderOf(ctx) }
  const seen = isSkillId(id) ? await inspectedSkill(db, reader) : await inspectedUnit(db, reader)
  if (seen.length === 0) return []
  return (isSkillId(id) ? skillSummaries : unitSummaries).withIds(db, { ids: [id] })
}

/** Finds units and skills that the reader may see: by id, or by words in the order of the search. At most this number of each. */
export async function findRecords(db: Database, ctx: Context, q: string, most: number): Promise<FoundRecord[]> {
  const found = (kind: FoundRecord['kind'], rows: readonly Row[]): FoundRecord[] =>
    rows.map(({ id, title, agent_id: agent }) => ({ kind, id, title, isOwn: ctx.actor.agents.includes(agent) }))
  if (q.startsWith('kp:')) return found(isSkillId(q) ? 'skill' : 'unit', await recordWithId(db, ctx, q))
  if (parseQuery(q).terms.length === 0) return []
  const asked = { q, mine: 'false', limit: most, offset: 0 } as const
  const [units, skills] = await Promise.all([
    searchPage(db, ctx, asked, { listed: unitSummaries, filters: {}, isUncorrected: true }),
    searchPage(db, ctx, asked, { listed: skillSummaries, filters: {}, isUncorrected: true }),
  ])
  return [
    ...found(
      'unit',
      units.rows.map(({ row }) => row),
    ),
    ...found(
      'skill',
      skills.rows.map(({ row }) => row),
    ),
  ]
}
