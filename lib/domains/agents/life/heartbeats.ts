import { notOurCursor, pageOf, parseCursor } from '#lib/kernel/pages.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { mutation, read, stream } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { jsonObject, recordPages, utc } from '#lib/stores/postgres/record-pages.ts'
import { ownAgent, writableAgent } from './agent-access.ts'
import { beatHeart, exportHeartbeats, listHeartbeats } from './heartbeats-contract.ts'
import { countHeartbeats, heartbeatsPage } from './repository.ts'
import { areHeartbeatsOver, clockTolerance, reportedWithin } from './rules.ts'
import type { LifePorts } from './status.ts'

/** Export records of the agent's heartbeats up to `until`, oldest first. */
export const heartbeatRecords = (db: Database, agentId: string, until: Date | null) =>
  recordPages(db, {
    from: 'heartbeats h',
    where: 'h.agent_id = $1 AND ($2::timestamptz IS NULL OR h.at <= $2)',
    values: [agentId, until],
    at: 'h.at',
    id: "lpad(h.seq::text, 20, '0')",
    columns: 'h.at, h.state, h.counts',
    record: jsonObject({ at: utc('c.at'), state: 'c.state', counts: 'c.counts' }),
  })

async function* lines(db: Database, agentId: string): AsyncGenerator<string> {
  for await (const page of heartbeatRecords(db, agentId, null)) yield `${page.lines}\n`
}

/** Heartbeats of agents: recording, listing and exporting. */
export const agentHeartbeats = ({ db, regions }: LifePorts) => ({
  beat: mutation(beatHeart, async ({ tx, actor, now }, { params: { id }, body }) => {
    const at = body.at ?? now
    if (at.getTime() > now.getTime() + clockTolerance)
      throw invalid(['at'], 'is more than five minutes ahead of our clock')
    if (at.getTime() < now.getTime() - reportedWithin) throw invalid(['at'], 'is more than 24 hours ago')
    // The lock serializes two heartbeats in the same second.
    await writableAgent(regions)(tx, actor, id)
    const second = Math.floor(at.getTime() / 1000) * 1000
    const known = await tx.heartbeat.findFirst({
      where: { agentId: id, at: { gte: new Date(second), lt: new Date(second + 1000) } },
      select: { seq: true },
    })
    if (!known) await tx.heartbeat.create({ data: { agentId: id, at, state: body.state, counts: body.counts } })
    return {
      body: { data: { at: at.toISOString(), is_kept: known === null } },
      resourceId: id,
      ...(known && { status: 200 }),
    }
  }),

  listHeartbeats: read(listHeartbeats, async ({ actor }, { params: { id }, query: { from, to, cursor, limit } }) => {
    const after = parseCursor(cursor)
    if (after && !/^\d{1,19}$/.test(after.id)) throw notOurCursor()
    await ownAgent(db, actor, id)
    const range = { agent: id, from: from ?? null, to: to ?? null }
    const [rows, [counted]] = await Promise.all([
      heartbeatsPage(db, { ...range, at: after?.at ?? null, seq: after?.id ?? '0', limit: limit + 1 }),
      countHeartbeats(db, range),
    ])
    const { shown, page } = pageOf(rows, limit, counted?.n ?? 0, ({ at, seq }) => ({ at, id: seq }))
    return {
      resourceId: id,
      resourceType: 'agent',
      details: { count: shown.length },
      body: {
        data: shown.map(({ at, state, counts }) => ({ at: at.toISOString(), state, counts })),
        ...page,
      },
    }
  }),

  exportHeartbeats: stream(exportHeartbeats, async ({ actor, now }, { params: { id } }) => {
    const { diedAt } = await ownAgent(db, actor, id)
    if (areHeartbeatsOver(diedAt, now))
      throw new Problem('expired', 'The agent was retired more than 24 hours ago, so its heartbeats were deleted.')
    return {
      body: lines(db, id),
      resourceId: id,
      resourceType: 'agent',
      headers: {
        'Content-Type': 'application/jsonl',
        'Content-Disposition': 'attachment; filename="heartbeats.jsonl"',
      },
    }
  }),
})
