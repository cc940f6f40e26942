import type { Prisma } from '#generated/prisma/client.ts'
import { hasCopiesToFetch } from '#lib/domains/privacy-requests/execution/erasure-start.ts'
import type { PrivacyDeps } from '#lib/domains/privacy-requests/ports.ts'
import { type RequestRow, StateName, wasFullyRetained } from '#lib/domains/privacy-requests/requests.ts'

/** Returns the message about the request's state in API responses. */
export function timelineTextFor(
  { graceTokens, graceSignIn }: Pick<PrivacyDeps, 'graceTokens' | 'graceSignIn'>,
  row: RequestRow,
): string {
  const until = row.waitingUntil?.toISOString() ?? ''
  const tokens =
    graceTokens === 'stop'
      ? 'Until then no token of the agents works'
      : 'Until then the tokens of the agents go on working'
  const signIn = graceSignIn === 'keep' ? 'signing in stays possible' : 'sessions have ended'
  const person = row.subjectKind === 'person' ? `, and ${signIn}` : ''
  if (row.pausedAt) return 'The clocks of this request stand still; the timeline says why.'
  switch (StateName.parse(row.state)) {
    case 'received':
      return row.contact === null
        ? 'Received. No address is on file, so an admin checks who asks.'
        : 'Received. A letter with a link went to the address on file: the link works once and for ten minutes. Nothing happens before that.'
    case 'verified':
      return 'It is settled who asks; the work begins.'
    case 'waiting':
      if (row.subjectKind === 'participant')
        return `The erasure begins at ${until}. Until then the application can write on behalf of the participant. Cancel the request before that time, and nothing is erased.`
      return `The erasure begins at ${until}. ${tokens}${person}. Cancel it any time before, and nothing is erased.${
        row.verifiedBy === 'token' && row.contact !== null
          ? ' This agent has an owner: they are told by letter and can cancel it too, which is why it waits 24 hours at least.'
          : ''
      }${hasCopiesToFetch(row) ? ' It also waits until the copy that you asked for is fetched or gone.' : ''}`
    case 'running':
      return row.runId === null
        ? 'Identity is settled; the work has begun.'
        : 'The erasure has begun and cannot be taken back. A receipt follows once everything is verified.'
    case 'verifying':
      return 'Everything is erased; every store is searched once more before the receipt is signed.'
    case 'completed':
      return 'Done.'
    case 'partly_completed':
      return wasFullyRetained(row)
        ? 'Nothing was erased: a legal hold covers everything. Everything works as before; the erasure begins by itself when the hold ends.'
        : 'Everything is erased but what a legal hold covers; the rest follows by itself when the hold ends.'
    case 'cancelled':
      return row.parts.some(({ outcome }) => (outcome as Prisma.JsonObject).by === 'erasure')
        ? 'Closed: it is part of a larger erasure now, which has begun.'
        : `Cancelled. By this request nothing was erased${row.parts.some(({ state }) => state === 'done') ? '; what was carried out before stays' : ''}.`
    case 'rejected':
      return 'Refused. The timeline has the reason, and what you can do about it.'
    case 'failed':
      return row.runId === null
        ? 'Something in it did not work. Nothing is lost, and it is tried again.'
        : 'Something in it did not work. What is erased stays erased, and the rest is tried again.'
  }
}
