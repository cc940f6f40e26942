'use client'

import { useTranslations } from 'next-intl'

interface Fault {
  name: 'empty' | 'email' | 'tooShort' | 'tooLong' | 'refusedAt' | 'other'
  count: number
}
const forms: [RegExp, Fault['name']][] = [
  [/^(?:has one character at least|must not be empty|nothing is left of it once markup is removed)$/, 'empty'],
  [/^takes an e-mail address$/, 'email'],
  [/\b(?:has|takes) ([\d,]+) characters at least$/, 'tooShort'],
  [/^Too small: expected string to have >=(\d+) characters$/, 'tooShort'],
  [/\b(?:has|takes) ([\d,]+) characters at most$/, 'tooLong'],
  [/^Too big: expected string to have <=(\d+) characters$/, 'tooLong'],
  [/ at character (\d+)$/, 'refusedAt'],
]

/** What the API finds wrong with one text, in its English words, as what can be said in every language. */
export function faultIn(message: string): Fault {
  for (const [form, name] of forms) {
    const found = form.exec(message)
    if (!found) continue
    const count = Number((found[1] ?? '0').replaceAll(',', ''))
    // The API counts places from 0, people from 1.
    return { name, count: name === 'refusedAt' ? count + 1 : count }
  }
  return { name: 'other', count: 0 }
}

/** Says it in the reader's language; the API's own words beside it where nothing else says as much. */
export function useFaultWords(): (message: string) => string {
  const t = useTranslations('common.faults')
  return (message) => {
    const { name, count } = faultIn(message)
    return t(name, { count, message })
  }
}
