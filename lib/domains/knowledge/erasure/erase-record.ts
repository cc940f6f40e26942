import type { MutationContext } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { Receipt } from '#lib/kernel/receipt.ts'
import type { Reply } from '#lib/kernel/use-case.ts'
import { withTimeout } from '#lib/kernel/with-timeout.ts'
import type { UnitErasures } from '../stored-unit.ts'
import { passes } from '../stored-unit.ts'
import { rejectUnderLegalHold } from './repository.ts'

/** A unit or skill to erase; its row is locked. */
export interface Erasable {
  kind: 'unit' | 'skill'
  id: string
  author: string
  /** Further agents that the content is attributed to. */
  attributedTo?: readonly (string | null)[]
  version: number
  /** Whether others could have copied it. */
  wasPublic: boolean
}

/** Milliseconds that a request waits for verification; after that the job completes it. */
const verificationPatience = 20_000

const prefersReceipt = (prefer: string | undefined): boolean =>
  /(?:^|,)\s*return\s*=\s*"?representation"?\s*(?:[,;]|$)/i.test(prefer ?? '')

/**
 * Starts the erasure in the transaction and completes it after the commit. Returns 204 with the receipt's id, or the receipt if the client
 * prefers it.
 * @throws {Problem} `precondition_failed`, `held`; `unavailable` if verification is not complete yet
 */
export async function eraseRow(
  erasures: UnitErasures,
  { tx, actor, now }: MutationContext,
  { kind, id, author, attributedTo = [], version, wasPublic }: Erasable,
  headers: { prefer?: string | undefined; 'if-match'?: string | undefined },
): Promise<Reply<Receipt>> {
  if (!passes(headers['if-match'], version))
    throw new Problem(
      'precondition_failed',
      `The ${kind} has changed since you read it, so nothing was erased. Read it again.`,
    )
  await rejectUnderLegalHold(tx, { kind, id, agents: [author, ...attributedTo] }, now)
  const receiptId = await erasures.begin(tx, {
    scope: kind === 'unit' ? { unit: id } : { skill: id },
    formerOwner: author,
    requestedBy: actor.id,
    reason: actor.agents.includes(author) ? 'user_request' : 'admin_request',
    wasPublic,
    now,
  })
  const headersOut = {
    'X-Deletion-Receipt': receiptId,
    Link: `</v1/receipts/${receiptId}>; rel="related"; title="deletion receipt"`,
  }
  return {
    body: undefined,
    status: 204,
    resourceId: id,
    details: { receipt: receiptId },
    headers: headersOut,
    afterCommit: async () => {
      const late = new Problem('unavailable', 'The verification takes longer than usual.')
      const receipt = await withTimeout(verificationPatience, erasures.finish(receiptId), late).catch(
        (cause: unknown) => {
          throw new Problem('unavailable', {
            detail: `The ${kind} was erased, but the erasure could not be verified yet. The verification is retried automatically. Request the receipt later.`,
            headers: { ...headersOut, 'Retry-After': '60' },
            extensions: { receipt_id: receiptId },
            cause,
          })
        },
      )
      return prefersReceipt(headers.prefer)
        ? { body: receipt, status: 200, headers: { ...headersOut, 'Preference-Applied': 'return=representation' } }
        : { body: undefined, status: 204, headers: headersOut }
    },
  }
}
