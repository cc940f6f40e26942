import type { Periods } from '#lib/kernel/expiring.ts'

/** A day is 86,400 seconds, regardless of daylight saving time and leap years. */
export const dayMs = 86_400_000
/** In days; a hundred years. */
export const longestPeriod = 36_500
/** In the order in which the console lists them. */
export const retainedVisibilities = ['private', 'org', 'network'] as const
export type RetainedVisibility = (typeof retainedVisibilities)[number]

export const presetNames = ['default', 'strict'] as const
export const presets: Record<(typeof presetNames)[number], Periods> = {
  default: { network: null, org: 730, private: 365 },
  strict: { network: null, org: 365, private: 180 },
}

/** A period that an admin set instead of the environment's. */
export interface Override {
  visibility: RetainedVisibility
  /** Null: unlimited. */
  days: number | null
  setBy: string
  setAt: Date
}
/** A shorter period that an admin set, and that is in force from `startsAt` on. */
export interface Shortening {
  visibility: RetainedVisibility
  days: number
  /** Whether it restores the environment's period. */
  isReset: boolean
  startsAt: Date
  setBy: string
  setAt: Date
}
export interface PeriodInForce {
  days: number | null
  source: 'environment' | 'override'
  set_by?: string | undefined
  set_at?: string | undefined
  /** A shorter period that waits until it is in force. */
  next?: { days: number; at: string; set_by: string } | undefined
}
/** Milliseconds from the decision to shorten a period until it is in force. Until then, it can be cancelled. */
export const timeToCancel = 24 * 3_600_000
export interface RetentionChange {
  preset?: keyof typeof presets | undefined
  network_days?: number | null | undefined
  org_days?: number | null | undefined
  private_days?: number | null | undefined
}

/** Returns true when records are retained for less time than before. */
export const isShorter = (before: number | null, after: number | null): boolean =>
  after !== null && (before === null || after < before)

/**
 * Returns the current periods with their source: a shortening whose time to cancel has ended, otherwise an override, otherwise the
 * environment.
 */
export function retentionPolicyOf(
  environment: Periods,
  overrides: readonly Override[],
  shortenings: readonly Shortening[],
  now: Date,
): Record<RetainedVisibility, PeriodInForce> {
  const inForce = (visibility: RetainedVisibility): PeriodInForce => {
    const shortening = shortenings.find((one) => one.visibility === visibility)
    const isDue = shortening !== undefined && shortening.startsAt <= now
    const override = isDue
      ? shortening.isReset
        ? undefined
        : shortening
      : overrides.find((one) => one.visibility === visibility)
    const current: PeriodInForce = override
      ? { days: override.days, source: 'override', set_by: override.setBy, set_at: override.setAt.toISOString() }
      : { days: environment[visibility], source: 'environment' }
    if (!shortening || isDue) return current
    const { days, startsAt, setBy } = shortening
    return { ...current, next: { days, at: startsAt.toISOString(), set_by: setBy } }
  }
  return { network: inForce('network'), org: inForce('org'), private: inForce('private') }
}

export const periodsOf = (policy: Record<RetainedVisibility, PeriodInForce>): Periods => ({
  network: policy.network.days,
  org: policy.org.days,
  private: policy.private.days,
})

/** Returns the periods that a change sets, by visibility, without the omitted ones. */
export const retentionChangesOf = (change: RetentionChange): Partial<Periods> =>
  change.preset !== undefined
    ? presets[change.preset]
    : {
        ...(change.network_days !== undefined && { network: change.network_days }),
        ...(change.org_days !== undefined && { org: change.org_days }),
        ...(change.private_days !== undefined && { private: change.private_days }),
      }

/** Returns the time until which stored records are due; null when they never expire. */
export const dueBefore = (days: number | null, now: Date): Date | null =>
  days === null ? null : new Date(now.getTime() - days * dayMs)

/** Returns true when a record stored at that time is due for deletion. */
export function isDue(storedAt: Date, days: number | null, now: Date): boolean {
  const before = dueBefore(days, now)
  return before !== null && storedAt.getTime() <= before.getTime()
}

/**
 * Returns the periods if each is `null` or a whole number of days from 1 to {@link longestPeriod}.
 * @throws RangeError for an invalid period
 */
export function checkedPeriods(periods: Periods): Periods {
  for (const visibility of retainedVisibilities) {
    const days = periods[visibility]
    if (days !== null && !(Number.isInteger(days) && days >= 1 && days <= longestPeriod))
      throw new RangeError(`${visibility}Days must be a whole number from 1 to ${longestPeriod}, or null for no limit.`)
  }
  return periods
}

export const sweepStates = ['running', 'finished', 'interrupted'] as const
export type SweepState = (typeof sweepStates)[number]
export const sweepStateOf = (sweep: { finishedAt: Date | null; interrupted: boolean }): SweepState =>
  sweep.finishedAt === null ? 'running' : sweep.interrupted ? 'interrupted' : 'finished'

/** Milliseconds after its start for which a sweep counts as running without holding the lock. */
export const startGrace = 60_000
