import type { Recognise } from '#lib/domains/pii/analyzer.ts'
import { namesWarned, type Warned } from '#lib/domains/pii/named-fields.ts'
import type { Reply } from '#lib/kernel/use-case.ts'

/** Finds names of people in texts; undefined if no analyzer is configured. */
export type Names = Recognise | undefined

/** Returns the warnings of one record, including names found in it. Call it outside of transactions. */
export async function warningsWithNames(names: Names, of: Warned): Promise<string[]> {
  const [warnings] = await namesWarned(names, [of])
  return warnings ?? [...of.warnings]
}

/** Adds warnings about names to a reply. The search runs after the commit, so that no locks are held meanwhile. */
export function namedAfterCommit<T extends { warnings?: string[] | undefined }>(
  names: Names,
  of: Omit<Warned, 'warnings'>,
  reply: Reply<T>,
): Reply<T> {
  const { body, status, headers } = reply
  if (names === undefined || body === undefined) return reply
  return {
    ...reply,
    async afterCommit() {
      const warnings = await warningsWithNames(names, { ...of, warnings: body.warnings ?? [] })
      return {
        body: warnings.length > 0 ? { ...body, warnings } : body,
        ...(status !== undefined && { status }),
        ...(headers && { headers }),
      }
    },
  }
}
