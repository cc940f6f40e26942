import type { Recognise } from '#lib/domains/pii/analyzer.ts'
import { namesWarned, type Warned } from '#lib/domains/pii/named-fields.ts'
import type { Reply } from '#lib/kernel/use-case.ts'

/** Finds names of people in texts; undefined where no analyzer is connected. */
export type Names = Recognise | undefined

/** The warnings of one thing, with the names that are found in it. Outside of transactions. */
export async function warningsWithNames(names: Names, of: Warned): Promise<string[]> {
  const [warnings] = await namesWarned(names, [of])
  return warnings ?? [...of.warnings]
}

/** A reply whose warnings are told with names, which are looked for once the transaction has committed: nobody waits for its locks. */
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
