import type { PipelinePorts } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { unlinkAll } from './identities.ts'
import { endLinks } from './links.ts'
import { enqueueNotice } from './notices.ts'
import { hashPassword, oneTimePassword } from './passwords.ts'
import { normaliseEmail, oneTimePasswordLife } from './rules.ts'
import { dropFactors } from './second-factors/own-factors.ts'

/** The password reset that the operator of the installation executes on the command line. */
export const operatorReset = ({
  pipeline,
}: {
  pipeline: Pick<PipelinePorts, 'clock' | 'transaction' | 'auditWithin'>
}) => ({
  /**
   * Sets a one-time password on behalf of the operator; it must be changed at sign-in. Ends all sessions and links,
   * unlinks all identities, removes all second factors, and notifies the person by email.
   * @throws Problem `not_found`
   */
  async resetPassword(email: string): Promise<{ accountId: string; password: string; sessionsEnded: number }> {
    const password = oneTimePassword()
    const passwordHash = await hashPassword(password)
    return pipeline.transaction(async (tx) => {
      const now = pipeline.clock.now()
      const [account] = await tx.account.updateManyAndReturn({
        where: { email: normaliseEmail(email) },
        data: {
          ...{ passwordHash, mustChangePassword: true, updatedAt: now },
          passwordExpiresAt: new Date(now.getTime() + oneTimePasswordLife),
        },
        select: { id: true },
      })
      if (!account) throw new Problem('not_found', 'No account has this email address.')
      // Ends all other ways to sign in.
      await endLinks(tx, account.id, now)
      await unlinkAll(tx, account.id, now)
      const factors = await dropFactors(tx, account.id)
      const { count } = await tx.session.updateMany({
        where: { accountId: account.id, revokedAt: null },
        data: { revokedAt: now },
      })
      await pipeline.auditWithin(tx, {
        action: 'update',
        at: now,
        actorId: 'system:admin.reset-password',
        ip: '',
        resourceType: 'account',
        resourceId: account.id,
        details: {
          ...{ operation: 'resetPassword', changed: ['password'], sessions_ended: count },
          ...(factors > 0 && { factors_removed: factors }),
        },
      })
      await enqueueNotice(tx, { kind: 'password-reset', accountId: account.id, at: now.toISOString() })
      return { accountId: account.id, password, sessionsEnded: count }
    })
  },
})
