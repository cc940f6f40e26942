import type { Context } from './context.ts'
import { Problem } from './problem.ts'

/** For how many milliseconds after the password was entered dangerous actions are allowed. */
export const passwordStaysRecent = 10 * 60_000

/**
 * Requires a session whose password was entered within the last ten minutes: an unlocked browser or a stolen cookie is not enough.
 * Tokens pass; operations that tokens may not call reject them elsewhere. @throws `step_up_required`
 */
export function requireRecentPassword({ actor, now }: Pick<Context, 'actor' | 'now'>): void {
  if (actor.kind !== 'person') return
  const age = actor.passwordAt && now.getTime() - actor.passwordAt.getTime()
  if (age === undefined || age > passwordStaysRecent)
    throw new Problem(
      'step_up_required',
      'Confirm your password (POST /api/account/confirm), then repeat the request within ten minutes.',
    )
}
