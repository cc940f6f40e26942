import { plusYears } from '#lib/domains/erasure/rules.ts'

const day = 86_400_000
/** The time until then: in years if it is a number of calendar years, otherwise in days. */
export function retentionTerm(until: Date, now: Date): { value: number; unit: 'year' | 'day' } {
  const years = until.getUTCFullYear() - now.getUTCFullYear()
  const isInYears = years > 0 && Math.abs(plusYears(now, years).getTime() - until.getTime()) < day
  return isInYears
    ? { value: years, unit: 'year' }
    : { value: Math.round((until.getTime() - now.getTime()) / day), unit: 'day' }
}
