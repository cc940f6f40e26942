import { Problem } from '#lib/kernel/problem.ts'
import { mutation } from '#lib/kernel/use-case.ts'
import { useLink } from '../contract.ts'
import { cancelRequestIn, confirmAddress, executeVerifiedRequest } from '../execution/execution.ts'
import type { PrivacyDeps } from '../ports.ts'
import { isUnconnected, type RequestRow, StateName } from '../requests.ts'
import type { IdentityProof } from '../rules.ts'
import { change, notifyParties, type RequestWork, workOf } from '../timeline.ts'
import { takeRequestLink } from './links.ts'

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
  /** How an application confirmed the identity of the person on whose behalf it files. */
  identity?: IdentityProof,
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
    details: { by: proof, ...(identity && { identity }) },
    by: proof === 'admin' || proof === 'manager' ? proof : work.by === 'manager' ? 'manager' : 'subject',
  })
  return executeVerifiedRequest(deps, work, verified)
}

/**
 * Uses a link from an email. The token proves that the caller can read the email; nothing else about the caller is
 * checked or disclosed.
 */
export const requestLinkUse = (deps: PrivacyDeps) => ({
  useLink: mutation(useLink, async (ctx, { body: { token, purpose } }) => {
    await deps.countTry(ctx.ip)
    const row = await takeRequestLink(ctx.tx, token, purpose, ctx.now)
    const work = workOf(ctx, 'subject')
    const settled = async () => {
      switch (purpose) {
        case 'verify':
          return verifyRequestIn(deps, work, row, 'link')
        case 'cancel':
          return cancelRequestIn(deps, work, row)
        case 'address':
          return confirmAddress(deps, work, row)
      }
    }
    const next = await settled()
    if (work.entries.length === 0)
      throw new Problem('link_spent', 'This link is no longer needed. The request does not wait for it.')
    await notifyParties(work)
    return {
      body: { data: { purpose, state: StateName.parse(next.state) } },
      resourceId: next.id,
      entries: work.entries,
    }
  }),
})
