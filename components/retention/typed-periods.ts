import { longestPeriod, presets, type Visibility, visibilities } from '#lib/domains/retention/rules.ts'
import type { Periods } from '#lib/kernel/holder.ts'

/** Periods as a form has them: days as typed, and a box for “for ever”. */
export type TypedPeriods = Record<Visibility, { isForEver: boolean; days: string }>

/** As a form shows them; where something is kept for ever, the days that untick the box are the stricter preset's or a year. */
export const typedOf = (periods: Periods): TypedPeriods => {
  const one = (visibility: Visibility) => ({
    isForEver: periods[visibility] === null,
    days: String(periods[visibility] ?? presets.strict[visibility] ?? 365),
  })
  return { network: one('network'), org: one('org'), private: one('private') }
}

/** The period that a field means: null is for ever; undefined where it is none. */
export function daysOf({ isForEver, days }: TypedPeriods[Visibility]): number | null | undefined {
  if (isForEver) return null
  const typed = days.trim()
  const value = Number(typed)
  return /^\d+$/.test(typed) && value >= 1 && value <= longestPeriod ? value : undefined
}

/** All three; undefined where one of them is none. */
export function periodsIn(typed: TypedPeriods): Periods | undefined {
  const [network, org, own] = [daysOf(typed.network), daysOf(typed.org), daysOf(typed.private)]
  return network === undefined || org === undefined || own === undefined ? undefined : { network, org, private: own }
}

export const isSame = (one: Periods, other: Periods): boolean =>
  visibilities.every((visibility) => one[visibility] === other[visibility])

/** The fields of a change that lead from one to the other; what stays is not sent, and stays the environment's or the admin's. */
export const changeOf = (from: Periods, to: Periods) => ({
  ...(to.network !== from.network && { network_days: to.network }),
  ...(to.org !== from.org && { org_days: to.org }),
  ...(to.private !== from.private && { private_days: to.private }),
})
