import { carryOut } from '#lib/domains/privacy-requests/execution/execution.ts'
import type { PrivacyDeps } from '#lib/domains/privacy-requests/ports.ts'
import { isUnconnected, type RequestRow, StateName } from '#lib/domains/privacy-requests/requests.ts'
import { change, type RequestWork } from '#lib/domains/privacy-requests/timeline.ts'
import { Problem } from '#lib/kernel/problem.ts'

/** manager: the owner of a project or a manager confirmed the participant's identity. */
export type Proof = 'password' | 'token' | 'link' | 'admin' | 'manager'

/**
 * Records the proof of identity and starts the request or its grace period.
 * @throws Problem `wrong_state` when the request is already verified or closed
 */
export async function verifyRequestIn(
  deps: PrivacyDeps,
  work: RequestWork,
  row: RequestRow,
  proof: Proof,
): Promise<RequestRow> {
  const state = StateName.parse(row.state)
  if (state !== 'received')
    throw new Problem(
      'wrong_state',
      `The request is ${state.replace('_', ' ')}, and the identity of the requester is already verified.`,
    )
  if (isUnconnected(row))
    throw new Problem(
      'wrong_state',
      'The request came from the form, and only its email address is confirmed. Connect it to an account or participant first, or answer it. Nothing was changed.',
    )
  await work.tx.privacyLink.deleteMany({ where: { requestId: row.id, purpose: 'verify', usedAt: null } })
  // A pause because of doubts about identity ends here.
  const paused = row.pausedAt ? work.now.getTime() - row.pausedAt.getTime() : 0
  const verified = await change(work, row, {
    event: 'verified',
    to: 'verified',
    data: {
      verifiedBy: proof,
      verifiedAt: work.now,
      ...(row.pausedAt && { pausedAt: null, legalDueAt: new Date(row.legalDueAt.getTime() + paused) }),
    },
    details: { by: proof },
    by: proof === 'admin' || proof === 'manager' ? proof : 'subject',
  })
  return carryOut(deps, work, verified)
}
