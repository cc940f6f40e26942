'use client'

import { useTranslations } from 'next-intl'
import type { ProblemDocument } from '#lib/client/request.ts'

interface Fault {
  name: 'empty' | 'email' | 'tooShort' | 'tooLong' | 'refusedAt' | 'other'
  count: number
}
const forms: [RegExp, Fault['name']][] = [
  [/^(?:must not be empty|is empty after markup is removed)$/, 'empty'],
  [/^must be an email address$/, 'email'],
  [/\bmust have at least ([\d,]+) characters$/, 'tooShort'],
  [/^Too small: expected string to have >=(\d+) characters$/, 'tooShort'],
  [/\bmust have at most ([\d,]+) characters$/, 'tooLong'],
  [/^Too big: expected string to have <=(\d+) characters$/, 'tooLong'],
  [/ at character (\d+)$/, 'refusedAt'],
]

/** Maps an English validation message of the API to a fault that can be translated. */
export function faultIn(message: string): Fault {
  for (const [form, name] of forms) {
    const found = form.exec(message)
    if (!found) continue
    const count = Number((found[1] ?? '0').replaceAll(',', ''))
    // The API counts positions from 0, people count from 1.
    return { name, count: name === 'refusedAt' ? count + 1 : count }
  }
  return { name: 'other', count: 0 }
}

/** The validation message about a field of a request; undefined if the problem is not about it. */
export const issueOf = (problem: ProblemDocument | undefined, field: string): string | undefined =>
  problem?.issues?.find(({ path }) => path.includes(field))?.message

/** Translates a validation message. For an unknown fault the translation includes the message of the API. */
export function useFaultWords(): (message: string) => string {
  const t = useTranslations('common.faults')
  return (message) => {
    const { name, count } = faultIn(message)
    return t(name, { count, message })
  }
}
