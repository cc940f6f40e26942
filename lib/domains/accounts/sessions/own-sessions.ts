import { endSessions } from '#lib/domains/accounts/account-status.ts'
import { listSessions, revokeOtherSessions, revokeSession, type SessionView } from '#lib/domains/accounts/contract.ts'
import { accountOf } from '#lib/domains/accounts/own-account.ts'
import { pageOf, parseCursor } from '#lib/kernel/pages.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { listOpenSessions } from './repository.ts'

const viewOf = (
  row: Awaited<ReturnType<typeof listOpenSessions>>[number],
  current: string | undefined,
): SessionView => ({
  session_id: row.id,
  browser: row.user_agent,
  created_at: row.created_at.toISOString(),
  last_seen_at: row.last_seen_at.toISOString(),
  expires_at: row.expires_at.toISOString(),
  is_current: row.id === current,
})

const list = (db: Database) =>
  read(listSessions, async (ctx, { query: { limit, cursor } }) => {
    const after = parseCursor(cursor)
    const rows = await listOpenSessions(db, {
      ...{ account: accountOf(ctx), now: ctx.now, limit: limit + 1 },
      ...{ at: after?.at ?? null, id: after?.id ?? null },
    })
    const { shown, page } = pageOf(rows, limit, rows[0]?.total ?? 0, ({ created_at, id }) => ({ at: created_at, id }))
    return {
      resourceId: 'query',
      details: { count: shown.length },
      body: {
        data: shown.map((row) => viewOf(row, ctx.actor.sessionId)),
        ...page,
      },
    }
  })

const revokeOthers = () =>
  mutation(revokeOtherSessions, async (ctx) => {
    const ended = await endSessions(ctx.tx, accountOf(ctx), ctx.now, ctx.actor.sessionId)
    return {
      resourceId: accountOf(ctx),
      details: { sessions_ended: ended },
      body: { data: { sessions_ended: ended } },
    }
  })

const revokeOne = () =>
  mutation(revokeSession, async (ctx, { params: { id } }) => {
    const { count } = await ctx.tx.session.updateMany({
      where: { id, accountId: accountOf(ctx), revokedAt: null, expiresAt: { gt: ctx.now } },
      data: { revokedAt: ctx.now },
    })
    if (count === 0) throw new Problem('not_found', 'You have no open session with this id.')
    return { resourceId: id, body: undefined }
  })

/** Use cases of people for their own sessions. */
export const ownSessions = (db: Database) => ({
  sessions: list(db),
  revokeOtherSessions: revokeOthers(),
  revokeSession: revokeOne(),
})
