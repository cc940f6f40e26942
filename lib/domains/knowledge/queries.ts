import type { Context, Transaction } from '#lib/kernel/context.ts'
import type { Periods } from '#lib/kernel/expiring.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { authorsWithHolds, lockRestoredRecord } from './erasure/repository.ts'
import {
  contributionsOf,
  countStoredUntil,
  inspectedSkill,
  inspectedUnit,
  skillSummaries,
  titlesForAdmins,
  unitSummaries,
} from './inspection/repository.ts'
import { countQuarantined } from './moderation/repository.ts'
import { namesAgent } from './repository.ts'
import { searchPage } from './search/paging.ts'
import { parseQuery } from './search/query.ts'
import { knowledgeReaderOf } from './stored-unit.ts'

const day = 86_400_000

interface ExpiringSummary {
  visibility: keyof Periods
  count: number
  /** When the first of the records expires. */
  firstAt: Date
}
interface ExpiringFor {
  agents: readonly string[]
  organisationId: string | undefined
}

/** Counts units and skills of these agents that retention will delete by `until`, except those under a legal hold. */
export async function expiringSoon(
  db: Database,
  { agents, organisationId }: ExpiringFor,
  periods: Periods,
  { now, until }: { now: Date; until: Date },
): Promise<ExpiringSummary[]> {
  const scopes: Record<keyof Periods, string[]> = {
    network: ['network'],
    org: organisationId === undefined ? [] : [`org:${organisationId}`],
    private: agents.map((id) => `agent:${id}`),
  }
  const visibilities = ['network', 'org', 'private'] as const
  const searched = visibilities.flatMap((visibility) => {
    const days = periods[visibility]
    if (days === null) return []
    const before = new Date(until.getTime() - days * day)
    return scopes[visibility].map((scope) => ({ visibility, scope, before }))
  })
  if (agents.length === 0 || searched.length === 0) return []
  const records = await countStoredUntil(db, { scopes: searched, agents, now })
  return records.map(({ visibility, n, since }) => ({
    visibility,
    count: n,
    firstAt: new Date(since.getTime() + (periods[visibility] ?? 0) * day),
  }))
}

interface FoundRecord {
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
export async function findRecords(db: Database, ctx: Context, q: string, max: number): Promise<FoundRecord[]> {
  const found = (kind: FoundRecord['kind'], rows: readonly Row[]): FoundRecord[] =>
    rows.map(({ id, title, agent_id: agent }) => ({ kind, id, title, isOwn: ctx.actor.agents.includes(agent) }))
  if (q.startsWith('kp:')) return found(isSkillId(q) ? 'skill' : 'unit', await recordWithId(db, ctx, q))
  if (parseQuery(q).terms.length === 0) return []
  const asked = { q, mine: 'false', limit: max, offset: 0 } as const
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

/** Number of units and skills, and reputation, of each agent; counting stops at `bound`. */
export const contributedBy = async (db: Database, agents: readonly string[], bound: number) =>
  new Map((await contributionsOf(db, { agents, bound })).map(({ id, ...counts }) => [id, counts]))

/** The titles of those units and skills that every admin may see, by id. */
export async function sharedTitles(tx: Transaction, ids: readonly string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map()
  const rows = await titlesForAdmins(tx, { ids })
  return new Map(rows.map(({ id, title }) => [id, title]))
}

/** Number of units and skills in quarantine; each count stops at 1,001. */
export async function quarantined(db: Database): Promise<number> {
  const [row] = await countQuarantined(db, {})
  return row?.n ?? 0
}

/** Ids of the newest units and skills of these agents. */
export async function newestRecordsOf({ prisma }: Database, agents: readonly string[], max: number): Promise<string[]> {
  const newest = {
    where: { agentId: { in: [...agents] } },
    select: { id: true, createdAt: true },
    orderBy: [{ createdAt: 'desc' as const }, { id: 'desc' as const }],
    take: max,
  }
  const found = await Promise.all([prisma.unit.findMany(newest), prisma.skill.findMany(newest)])
  return found
    .flat()
    .toSorted((one, other) => other.createdAt.getTime() - one.createdAt.getTime())
    .slice(0, max)
    .map(({ id }) => id)
}

/** Number of all stored units and skills. */
export async function countRecords(tx: Transaction): Promise<{ units: number; skills: number }> {
  const [units, skills] = await Promise.all([tx.unit.count(), tx.skill.count()])
  return { units, skills }
}

interface Restored {
  formerOwner: string
  wasPublic: boolean
}

/** A unit or skill that a restored backup brought back, locked. Undefined unless it is stored and already existed at that time. */
export async function restoredRecord(
  tx: Transaction,
  scope: { unit: string } | { skill: string },
  at: Date,
): Promise<Restored | undefined> {
  const [row] =
    'unit' in scope
      ? await lockRestoredRecord(tx, { id: scope.unit, at }, 'unit')
      : await lockRestoredRecord(tx, { id: scope.skill, at }, 'skill')
  return row
}

/**
 * Maps those of the agents that authored a unit or skill under an active legal hold to one such hold. Records cannot exist without their
 * author's row.
 */
export async function authorsUnderLegalHold(
  tx: Transaction,
  agents: readonly string[],
  now: Date,
): Promise<Map<string, string>> {
  const holds = new Map<string, string>()
  for (const kind of ['unit', 'skill'] as const)
    for (const { agent, hold } of await authorsWithHolds(tx, { agents, now }, kind)) holds.set(agent, hold)
  return holds
}

/** Whether any unit names the id as expert (also in a former version), first author or validator. */
export const isAttributed = async (db: Database, id: string): Promise<boolean> =>
  (await namesAgent(db, { agent: id }))[0]?.is ?? false

/** Whether a unit or skill with this id exists. */
export const isStored = async (tx: Transaction, kind: 'unit' | 'skill', id: string): Promise<boolean> =>
  (kind === 'unit' ? await tx.unit.count({ where: { id } }) : await tx.skill.count({ where: { id } })) > 0
