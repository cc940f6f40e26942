import { isAlphanumeric } from '#lib/domains/pii/character-classes.ts'
import { finding, lowConfidence, type SensitiveFinding } from '#lib/domains/pii/findings.ts'
import { areGrouped, type NumberGroups } from './number-groups.ts'

/** Numbers that documentation uses. */
const published = new Set(['123456789', '111223333', '111111111', '123121234', '222334444', '333224444'])
const social = /ssn|social[ -]?security|taxpayer id/i
/**
 * Rules of the Social Security Administration: no area 000, 666 or 9xx, no group 00, no serial 0000, and not the two published sample
 * numbers.
 */
const isSocialSecurity = (digits: string): boolean =>
  /^(?!000|666|9)\d{3}(?!00)\d{2}(?!0000)\d{4}$/.test(digits) && digits !== '078051120' && digits !== '219099999'

/** The social security number at the beginning of these groups of digits. */
export function socialAmong(text: string, start: number, groups: NumberGroups): SensitiveFinding | undefined {
  const isWhole = groups.digits[0]?.length === 9
  if (!isWhole && !areGrouped(groups, [3, 2, 4])) return undefined
  const parts = isWhole ? 1 : 3
  const end = groups.ends[parts - 1] ?? start
  const hasHyphens = !isWhole && groups.gaps.slice(0, 2).every((between) => /^[-\u2010-\u2013]$/.test(between))
  const before = text.charAt(start - 1)
  if (
    before === '-' ||
    before === '.' ||
    isAlphanumeric(text, end) ||
    /^[-.\u2010-\u2013]$/.test(groups.gaps[parts - 1] ?? '')
  )
    return undefined
  if (!isSocialSecurity(groups.digits.slice(0, parts).join(''))) return undefined
  const isCalledSo = social.test(text.slice(Math.max(0, start - 48), start))
  if (!hasHyphens && !isCalledSo) return undefined
  const found = finding('ssn', start, end, isCalledSo ? 0.95 : 0.85)
  return published.has(groups.digits.slice(0, parts).join('')) ? lowConfidence(found) : found
}
