import type { PrivacyParts } from './ports.ts'
import { kindsOf, type RequestRow, StateName } from './requests.ts'

/** What the answer to an operation says about the request, in the words of the API. */
export function wordsFor(
  { graceTokens, graceSignIn }: Pick<PrivacyParts, 'graceTokens' | 'graceSignIn'>,
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
      return `The erasure begins at ${until}. ${tokens}${person}. Cancel it any time before, and nothing is erased.${
        kindsOf(row).some((kind) => kind === 'access' || kind === 'portability')
          ? ' It also waits until the copy that you asked for is fetched or gone.'
          : ''
      }`
    case 'running':
      return row.runId === null
        ? 'Identity is settled; the work has begun.'
        : 'The erasure has begun and cannot be taken back. A receipt follows once everything is verified.'
    case 'verifying':
      return 'Everything is erased; every store is searched once more before the receipt is signed.'
    case 'completed':
      return 'Done.'
    case 'partly_completed':
      return 'Everything is erased but what a legal hold covers; the rest follows by itself when the hold ends.'
    case 'cancelled':
      return 'Cancelled. Nothing was erased.'
    case 'rejected':
      return 'Refused. The timeline has the reason, and what you can do about it.'
    case 'failed':
      return 'Something in it did not work. Nothing is lost: an admin tries it again.'
  }
}
