import type { Context } from './context.ts'
import { Problem } from './problem.ts'

/** How long an entered password permits dangerous actions, in milliseconds. */
export const passwordStaysRecent = 10 * 60_000

/**
 * Throws `step_up_required` for a session whose password was not entered within the last ten minutes, so that an open browser or a stolen
 * cookie is not enough. Tokens pass: an operation that no token may do refuses them itself.
 */
export function requireRecentPassword({ actor, now }: Pick<Context, 'actor' | 'now'>): void {
  if (actor.kind !== 'person') return
  const age = actor.passwordAt && now.getTime() - actor.passwordAt.getTime()
  if (age === undefined || age > passwordStaysRecent)
    throw new Problem(
      'step_up_required',
      'Confirm your password (POST /api/account/confirm), then repeat the request within ten minutes. Nothing was changed.',
    )
}
