import { Unit } from '#lib/domains/knowledge/unit.ts'
import type { Issue } from '#lib/kernel/problem.ts'

/** A unit, or its faults: those that the registry would find too cost none of its writes. */
export function judge(value: unknown): { unit: Unit } | { issues: Issue[] } {
  const parsed = Unit.safeParse(value)
  if (parsed.success) return { unit: parsed.data }
  const issues = parsed.error.issues.flatMap((issue) => {
    const path = issue.path.map((step) => (typeof step === 'symbol' ? String(step) : step))
    if (issue.code === 'unrecognized_keys')
      return issue.keys.map((key) => ({ path: [...path, key], message: 'is not known' }))
    return [{ path, message: issue.message }]
  })
  return { issues }
}

/** The first five, by their places. */
export const described = (issues: readonly Issue[]): string =>
  issues
    .slice(0, 5)
    .map(({ path, message }) => `${path.join('.') || 'the unit'}: ${message}`)
    .join('; ') + (issues.length > 5 ? `; and ${issues.length - 5} more` : '')
