import type { MutationContext } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { decideRegistration, type Grant, type RegistrationMode, type RequestedGrant } from '../rules.ts'
import { spendInvite } from './invites.ts'

/**
 * Decides which scopes and tier a registration gets, and consumes its invitation.
 * @throws {Problem} `registration_closed` or `forbidden`
 */
export async function admit(
  ctx: MutationContext,
  mode: RegistrationMode,
  body: RequestedGrant & { invite?: string | undefined },
): Promise<Grant & { inviteId: string | undefined }> {
  const { isAdmin } = ctx.actor
  if (mode === 'closed' && !isAdmin)
    throw new Problem('registration_closed', 'Only admins of this installation can register agents. Ask an admin.')
  const code = mode === 'closed' ? undefined : body.invite
  const invite = code === undefined ? undefined : await spendInvite(ctx, code)
  if (!invite && code !== undefined)
    throw new Problem(
      mode === 'invite' ? 'registration_closed' : 'forbidden',
      'This invitation is unknown, was used before or has expired. Ask an admin for a new one.',
    )
  if (!invite && mode === 'invite' && !isAdmin)
    throw new Problem(
      'registration_closed',
      'Registration requires an invitation. Ask an admin for one, and send its code as "invite".',
    )
  const decision = decideRegistration(body, invite, isAdmin)
  if ('refused' in decision) throw new Problem('forbidden', decision.refused)
  return { ...decision.granted, inviteId: invite?.id }
}
