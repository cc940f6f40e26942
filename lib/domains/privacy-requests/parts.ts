import type { Prisma } from '../../../generated/prisma/client.ts'
import { type PartRow, PartStateName, partOf, type RequestRow, StateName } from './requests.ts'
import { isClosed, type Kind, type PartState, stateOfParts } from './rules.ts'
import { change, type Work } from './timeline.ts'

export type Outcome = Record<string, string | number | boolean | null>
/** Nothing more is done for it, unless it failed and is tried again. */
export const isOver = (state: PartState): boolean => state !== 'pending' && state !== 'running'

/** Sets a part's state; gives the request with it. What its outcome held before stays beside. */
export async function setPart(
  work: Work,
  row: RequestRow,
  kind: Kind,
  state: PartState,
  outcome: Outcome = {},
): Promise<RequestRow> {
  const before = partOf(row, kind)
  if (!before) return row
  const after: PartRow = await work.tx.privacyRequestPart.update({
    where: { requestId_kind: { requestId: row.id, kind } },
    data: {
      state,
      startedAt: before.startedAt ?? work.now,
      finishedAt: isOver(state) ? work.now : null,
      outcome: { ...(before.outcome as Prisma.JsonObject), ...outcome },
    },
  })
  return { ...row, parts: row.parts.map((part) => (part.kind === kind ? after : part)) }
}

/** The request as far as its parts are, once its work has begun. One that is closed stays so, whatever becomes of its copies. */
export async function conclude(work: Work, row: RequestRow, details: Outcome = {}): Promise<RequestRow> {
  const from = StateName.parse(row.state)
  if (from === 'waiting' || from === 'verified' || from === 'received' || isClosed(from)) return row
  const to = stateOfParts(row.parts.map((part) => PartStateName.parse(part.state)))
  if (to === from || (to === 'running' && from === 'verifying')) return row
  return change(work, row, { event: to, to, details, by: to === 'rejected' ? 'admin' : 'system' })
}
