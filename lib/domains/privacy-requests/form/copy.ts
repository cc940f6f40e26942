import type { PrivacyDeps } from '#lib/domains/privacy-requests/ports.ts'
import { isUnconnected, type RequestRow, withParts } from '#lib/domains/privacy-requests/requests.ts'
import { hashOf } from '#lib/kernel/code-hash.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { stream } from '#lib/kernel/use-case.ts'
import { downloadFormCopy } from './contract.ts'
import { type CopyDelivery, copyOpen } from './rules.ts'

/** A link to a status page with its request. */
export interface StatusLink {
  createdAt: Date
  requestId: string
}
/** @throws Problem `link_spent` for an unknown or expired link, or one of another purpose */
export async function statusLinkOf(tx: Transaction, token: string, now: Date): Promise<StatusLink> {
  const record = await tx.privacyLink.findFirst({
    where: { hash: hashOf(token), purpose: 'status', expiresAt: { gt: now } },
    select: { requestId: true, createdAt: true },
  })
  if (!record)
    throw new Problem(
      'link_spent',
      'This link is invalid or has expired. Status pages are deleted 30 days after the request is closed, and earlier when the data of the requester is erased.',
    )
  return record
}

/**
 * How a copy reaches the requester. Only a link that was sent after the identity was verified downloads it: earlier links
 * were sent when the requester could only see the status, and may have been passed on.
 */
export function copyDeliveryOf(row: RequestRow, link: StatusLink, now: Date): CopyDelivery | null {
  const isReady = row.parts.some(({ kind, state }) => (kind === 'access' || kind === 'portability') && state === 'done')
  if (!isReady || isUnconnected(row)) return null
  if (row.accountId !== null) return 'sign_in'
  if (row.participantId === null || row.verifiedAt === null || now.getTime() >= row.verifiedAt.getTime() + copyOpen)
    return 'organization'
  return link.createdAt >= row.verifiedAt ? 'download' : 'email'
}

/** The download of a participant's copy, with the token of a status page. */
export const formCopy = ({ db, form, participants }: Pick<PrivacyDeps, 'db' | 'form' | 'participants'>) => ({
  downloadFormCopy: stream(downloadFormCopy, async ({ ip, now }, { body: { token } }) => {
    await form.countTry(ip)

    const link = await statusLinkOf(db.prisma, token, now)
    const row = await db.prisma.privacyRequest.findUniqueOrThrow({ where: { id: link.requestId }, include: withParts })
    const { participantId } = row
    const projectId = participantId === null ? undefined : await participants.projectOf(db.prisma, participantId)
    if (participantId === null || projectId === undefined || copyDeliveryOf(row, link, now) !== 'download')
      throw new Problem(
        'wrong_state',
        'This link downloads no copy. A link that was sent after your identity was verified does, for 30 days.',
      )
    const scope = row.kinds.includes('access') ? 'all' : 'provided'
    return {
      body: participants.copyOf({ participantId, projectId, scope, now }),
      resourceId: row.id,
      details: { participant_id: participantId, scope },
      headers: {
        'Content-Type': 'application/x-ndjson',
        'Content-Disposition': 'attachment; filename="my-data.ndjson"',
        'Cache-Control': 'no-store',
      },
    }
  }),
})
