import { Unit } from '#lib/domains/knowledge/contract.ts'
import type { Issue } from '#lib/kernel/problem.ts'
import { issuesOf } from '#lib/kernel/use-case.ts'

/** Validates a unit locally, so that invalid ones use no writes of the rate limit. */
export function checkUnit(value: unknown): { unit: Unit } | { issues: Issue[] } {
  const parsed = Unit.safeParse(value)
  if (parsed.success) return { unit: parsed.data }
  return { issues: issuesOf(parsed.error) }
}

/** The first five issues with their paths. */
export const described = (issues: readonly Issue[]): string =>
  issues
    .slice(0, 5)
    .map(({ path, message }) => `${path.join('.') || 'the unit'}: ${message}`)
    .join('; ') + (issues.length > 5 ? `; and ${issues.length - 5} more` : '')
