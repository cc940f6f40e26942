import { parseJson } from '#lib/kernel/json.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { NdjsonLine } from './lines.ts'
import { ImportLine } from './rules.ts'

const isProjectLine = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'type' in value && value.type === 'project'

/**
 * Parses a line. Returns the problem of an invalid line: `malformed_json`, `too_large`, `invalid`.
 * @throws {Problem} `invalid` for an invalid `project` line
 */
export function parsedLine({ bytes }: NdjsonLine): ImportLine | Problem {
  if (!bytes) return new Problem('too_large', 'The line exceeds the size limit.')
  let value: unknown
  try {
    value = parseJson(bytes)
  } catch (error) {
    if (Problem.is(error)) return error
    throw error
  }
  const found = ImportLine.safeParse(value)
  if (found.success) return found.data
  const [issue] = found.error.issues
  const path = (issue?.path ?? []).filter((step) => typeof step !== 'symbol')
  // The message about unknown fields quotes their names, which are input of the client.
  const isUnknown = issue === undefined || issue.code === 'unrecognized_keys'
  const message = isUnknown ? 'The line has a field that this type does not have' : issue.message
  const problem = new Problem('invalid', { issues: [{ path, message }] })
  // Without this line, the data would be stored without its region.
  if (isProjectLine(value)) throw problem
  return problem
}
