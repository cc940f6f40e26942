import { longestPeriod, presets, type RetainedVisibility, retainedVisibilities } from '#lib/domains/retention/rules.ts'
import type { Periods } from '#lib/kernel/expiring.ts'

/** Periods in a form: days as typed, and a checkbox for "forever". */
export type TypedPeriods = Record<RetainedVisibility, { isForEver: boolean; days: string }>

/** The initial form. For a period of "forever", the days field contains the strict preset, or a year if that has none. */
export const typedPeriodsOf = (periods: Periods): TypedPeriods => {
  const one = (visibility: RetainedVisibility) => ({
    isForEver: periods[visibility] === null,
    days: String(periods[visibility] ?? presets.strict[visibility] ?? 365),
  })
  return { network: one('network'), org: one('org'), private: one('private') }
}

/** Parses one period: null means forever; undefined if invalid. */
export function daysOf({ isForEver, days }: TypedPeriods[RetainedVisibility]): number | null | undefined {
  if (isForEver) return null
  const typed = days.trim()
  const value = Number(typed)
  return /^\d+$/.test(typed) && value >= 1 && value <= longestPeriod ? value : undefined
}

/** Parses all three periods; undefined if one is invalid. */
export function periodsIn(typed: TypedPeriods): Periods | undefined {
  const [network, org, own] = [daysOf(typed.network), daysOf(typed.org), daysOf(typed.private)]
  return network === undefined || org === undefined || own === undefined ? undefined : { network, org, private: own }
}

/** Whether a period is longer than another. Null: forever. */
export const isLonger = (one: number | null, other: number | null): boolean =>
  (one ?? Number.POSITIVE_INFINITY) > (other ?? Number.POSITIVE_INFINITY)

export const isSame = (one: Periods, other: Periods): boolean =>
  retainedVisibilities.every((visibility) => one[visibility] === other[visibility])

/** The changed fields. A field that is not sent keeps its value and its origin, the environment or an admin. */
export const periodChangeOf = (from: Periods, to: Periods) => ({
  ...(to.network !== from.network && { network_days: to.network }),
  ...(to.org !== from.org && { org_days: to.org }),
  ...(to.private !== from.private && { private_days: to.private }),
})
