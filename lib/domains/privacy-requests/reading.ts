import type { PrivacyRequestEvent } from '#generated/prisma/client.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { RunView } from '#lib/kernel/erasure-run.ts'
import { openContact } from './filing/links.ts'
import type { PrivacyDeps, RequestContact } from './ports.ts'
import type { RequestRow } from './requests.ts'
import type { Beside } from './views.ts'

/** Lists count up to this number. */
export const requestsCountedTo = 1_001

/** Returns the reasons of paused requests by request id. */
export async function pauseReasons(tx: Transaction, rows: readonly RequestRow[]): Promise<Map<string, string>> {
  const paused = rows.filter(({ pausedAt }) => pausedAt !== null).map(({ id }) => id)
  if (paused.length === 0) return new Map()
  const events = await tx.privacyRequestEvent.findMany({
    where: { requestId: { in: paused }, event: 'paused' },
    orderBy: [{ at: 'asc' }, { id: 'asc' }],
  })
  return new Map(events.map(({ requestId, note }) => [requestId, note ?? '']))
}

/** Returns what a requester without an account entered in the form, while the address is stored. */
export const requesterOf = (key: Uint8Array, row: RequestRow): RequestContact | undefined =>
  row.channel === 'form' && row.accountId === null && row.contact !== null
    ? openContact(key, row.id, row.contact)
    : undefined

/** Loads the data that admins see with the rows: pause reasons and names. */
export async function besideOf(
  { people, agents, contactKey }: Pick<PrivacyDeps, 'people' | 'agents' | 'contactKey'>,
  tx: Transaction,
  rows: readonly RequestRow[],
): Promise<Beside> {
  const named = (ids: (string | null)[]) => [...new Set(ids.filter((id) => id !== null))]
  return {
    reasons: await pauseReasons(tx, rows),
    people: await people.namesOf(tx, named(rows.flatMap(({ accountId, assignedTo }) => [accountId, assignedTo]))),
    agents: await agents.namesOf(tx, named(rows.map(({ agentId }) => agentId))),
    requesters: new Map(
      rows.flatMap((row) => {
        const contact = requesterOf(contactKey(), row)
        return contact ? [[row.id, contact.requesterName ?? contact.email] as const] : []
      }),
    ),
  }
}

export interface Story {
  events: PrivacyRequestEvent[]
  run: RunView | undefined
}
/** Returns the timeline, oldest first, and the current state of the erasure. */
export async function storyOf({ db, erasures }: Pick<PrivacyDeps, 'db' | 'erasures'>, row: RequestRow): Promise<Story> {
  const [events, run] = await Promise.all([
    db.prisma.privacyRequestEvent.findMany({ where: { requestId: row.id }, orderBy: [{ at: 'asc' }, { id: 'asc' }] }),
    row.runId === null ? undefined : erasures.run(row.runId),
  ])
  return { events, run }
}
