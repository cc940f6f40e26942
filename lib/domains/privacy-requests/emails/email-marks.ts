import type { Agents } from '#lib/domains/privacy-requests/ports.ts'
import type { RequestRow } from '#lib/domains/privacy-requests/requests.ts'
import type { Transaction } from '#lib/kernel/context.ts'

/**
 * Marks by which emails about a request are found in the mail folder: by account, so that they are deleted with it.
 * Emails about the erasure of the person are marked by the request, which deletes them before its last email. The last
 * email has its own mark, because it stays.
 */
export interface EmailMark {
  about: string | undefined
  /** The request itself deletes these emails. */
  isOwn: boolean
}

export async function emailMarkOf(
  tx: Transaction,
  agents: Pick<Agents, 'ownerOf'>,
  row: RequestRow,
): Promise<EmailMark> {
  if (row.subjectKind === 'person' && row.runId !== null) return { about: row.id, isOwn: true }
  const owner = row.agentId === null ? null : await agents.ownerOf(tx, row.agentId)
  return { about: row.accountId ?? owner ?? undefined, isOwn: false }
}
export const lastEmailMark = (requestId: string): string => `${requestId}:last`
