import { plusYears } from '#lib/domains/erasure/rules.ts'
import { recognizeReceiptText } from '#lib/kernel/receipt-texts.ts'
import type en from '#messages/en.ts'

type SpecialTerm = keyof typeof en.receipt.retained.terms
const specialTerms: Record<SpecialTerm, true> = { request: true, lastEmail: true, emails: true, sharedIds: true }
const isSpecial = (code: string): code is SpecialTerm => Object.hasOwn(specialTerms, code)
/** The term of data whose retention does not run from the deletion, such as "3 years after closing". */
export function specialTermOf(what: string): SpecialTerm | undefined {
  const code = recognizeReceiptText('retained', what)?.code
  return code !== undefined && isSpecial(code) ? code : undefined
}

/** The external systems with copies that a deletion does not reach: their host names, and whether there are others without a name. */
export function externalSystemsIn(retained: readonly { what: string }[]): { systems: string[]; hasOthers: boolean } {
  const found = retained.map(({ what }) => recognizeReceiptText('retained', what))
  return {
    systems: found.flatMap((one) => (one?.code === 'outsideIn' ? [one.system] : [])),
    hasOthers: found.some((one) => one?.code === 'outside'),
  }
}

const day = 86_400_000
/** The time until then: in years if it is a number of calendar years, otherwise in days. */
export function retentionTerm(until: Date, now: Date): { value: number; unit: 'year' | 'day' } {
  const years = until.getUTCFullYear() - now.getUTCFullYear()
  const isInYears = years > 0 && Math.abs(plusYears(now, years).getTime() - until.getTime()) < day
  return isInYears
    ? { value: years, unit: 'year' }
    : { value: Math.round((until.getTime() - now.getTime()) / day), unit: 'day' }
}
