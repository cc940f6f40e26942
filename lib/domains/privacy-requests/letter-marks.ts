import type { Transaction } from '#lib/kernel/context.ts'
import type { Agents } from './ports.ts'
import type { RequestRow } from './requests.ts'

/**
 * By what letters about a request are found again where they lie in a folder: by the account, so that they go with it. Those about the
 * erasure of the person itself are written while it is carried out, and after: they are found by the request, which removes them with its
 * last letter. That one has a mark of its own, for it stays.
 */
export interface Mark {
  about: string | undefined
  /** The request removes them itself. */
  isOwn: boolean
}

export async function markOf(tx: Transaction, agents: Pick<Agents, 'ownerOf'>, row: RequestRow): Promise<Mark> {
  if (row.subjectKind === 'person' && row.runId !== null) return { about: row.id, isOwn: true }
  const owner = row.agentId === null ? null : await agents.ownerOf(tx, row.agentId)
  return { about: row.accountId ?? owner ?? undefined, isOwn: false }
}
export const lastMark = (requestId: string): string => `${requestId}:last`
