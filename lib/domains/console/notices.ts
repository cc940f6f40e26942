import { noticesReadBy } from '#lib/domains/accounts/queries.ts'
import { noteReadNotices } from '#lib/domains/accounts/writes.ts'
import { listWaitingProposals } from '#lib/domains/approvals/queries.ts'
import { activeRuns } from '#lib/domains/erasure/queries.ts'
import { noticedRequests, requestSubjectNames, unforwardedForms } from '#lib/domains/privacy-requests/queries.ts'
import type { Actor } from '#lib/kernel/context.ts'
import type { Output } from '#lib/kernel/operation.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { preparedMutation, read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { markNotices, readNotices } from './contract.ts'
import { type NoticeKind, noticeKindOf, noticeKinds, noticesShown } from './rules.ts'

interface NoticeDeps {
  db: Database
  settings: {
    /** Without one, an admin forwards links by hand. */
    hasMailServer: boolean
  }
}
type Notice = Omit<Output<typeof readNotices>['data'][number], 'is_read'>

const noticeOf = (
  kind: NoticeKind,
  resourceId: string,
  at: string,
  { name = null, dueAt = null }: { name?: string | null; dueAt?: string | null } = {},
): Notice => ({ id: `${kind}:${resourceId}`, kind, resource_id: resourceId, name, at, due_at: dueAt })

async function ofRequests(db: Database, accountId: string, now: Date): Promise<Notice[]> {
  const requests = await noticedRequests(db, accountId, now, noticesShown)
  return requests.map(({ view, name }) =>
    noticeOf(noticeKindOf(view), view.id, view.received_at, { name, dueAt: view.due_at ?? view.legal_due_at }),
  )
}

async function ofErasures(db: Database, seesRequests: boolean): Promise<Notice[]> {
  const stuck = (await activeRuns(db)).filter(({ isStuck }) => isStuck).slice(0, noticesShown)
  const ids = seesRequests ? stuck.flatMap(({ requestId }) => requestId ?? []) : []
  const names = await requestSubjectNames(db, ids)
  return stuck.map(({ id, requestId, createdAt }) =>
    noticeOf('stuck', id, createdAt.toISOString(), { name: names.get(requestId ?? '') ?? null }),
  )
}

/** Everything that the reader should look at, the most urgent first. Each source is limited by the permission of its page. */
async function noticesOf({ db, settings }: NoticeDeps, actor: Actor, now: Date): Promise<Notice[]> {
  const { accountId } = actor
  if (accountId === undefined) throw new Problem('sign_in_needed')
  const seesRequests = actor.can('privacy:admin')
  const [requests, forms, erasures, proposals] = await Promise.all([
    seesRequests ? ofRequests(db, accountId, now) : [],
    seesRequests && !settings.hasMailServer ? unforwardedForms(db, now) : [],
    actor.can('erasures:audit') ? ofErasures(db, seesRequests) : [],
    actor.can('approvals:admin') ? listWaitingProposals(db, accountId, now, noticesShown) : [],
  ])
  const all = [
    ...requests,
    ...erasures,
    ...forms.slice(0, noticesShown).map(({ id, createdAt }) => noticeOf('unconfirmed', id, createdAt.toISOString())),
    ...proposals.map(({ id, created_at }) => noticeOf('approval', id, created_at.toISOString())),
  ]
  return all.toSorted(
    (one, other) =>
      noticeKinds.indexOf(one.kind) - noticeKinds.indexOf(other.kind) ||
      (one.due_at ?? one.at).localeCompare(other.due_at ?? other.at),
  )
}

/** The number of notifications that the reader has not read. */
export async function unreadNotices(deps: NoticeDeps, actor: Actor, now: Date): Promise<number> {
  const [notices, seen] = [await noticesOf(deps, actor, now), await noticesReadBy(deps.db, actor.accountId ?? '')]
  return notices.filter(({ id }) => !seen.has(id)).length
}

/** What an admin should look at now. Only what they have read is stored, as kinds and ids. */
export const noticesService = (deps: NoticeDeps) => ({
  notices: read(readNotices, async ({ actor, now }) => {
    const notices = await noticesOf(deps, actor, now)
    const seen = await noticesReadBy(deps.db, actor.accountId ?? '')
    const data = notices.map((one) => ({ ...one, is_read: seen.has(one.id) }))
    return {
      resourceId: 'list',
      body: { data, unread: data.filter(({ is_read }) => !is_read).length },
    }
  }),
  markNotices: preparedMutation(
    markNotices,
    // Outside of the transaction, which has only one connection.
    async ({ actor, now }) => (await noticesOf(deps, actor, now)).map(({ id }) => id),
    async ({ tx, actor, now }, { body: { ids } }, existing) => {
      const given = new Set(ids)
      const read = existing.filter((id) => given.has(id))
      await noteReadNotices(tx, actor.accountId ?? '', { read, existing }, now)
      return { body: undefined, resourceId: 'list' }
    },
  ),
})
