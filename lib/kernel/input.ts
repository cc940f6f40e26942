import type { z } from 'zod'
import type { Input, OperationShape, RawInput } from './operation.ts'
import { type Issue, Problem } from './problem.ts'

const parts = ['params', 'query', 'headers', 'body'] as const

/** The issues of a schema error, each with its path below `at`. An unknown field is reported under its own path. */
export const issuesOf = (error: z.ZodError, at: Issue['path'] = []): Issue[] =>
  error.issues.flatMap((issue) => {
    const path = [...at, ...issue.path.map((step) => (typeof step === 'symbol' ? String(step) : step))]
    if (issue.code === 'unrecognized_keys')
      return issue.keys.map((key) => ({ path: [...path, key], message: 'This field is not known' }))
    return [{ path, message: issue.message }]
  })

/**
 * Validates every part of the input against the operation. Issues in the body have paths relative to its root; other paths begin with
 * the part's name.
 */
export function parseInput<O extends OperationShape>(operation: O, raw: RawInput): Input<O> {
  const input: Record<string, unknown> = {}
  const unasked = operation.query || operation.limit === 'exempt' ? [] : Object.keys(raw.query)
  if (unasked.length > 0)
    throw new Problem('invalid', {
      detail: 'This operation does not accept query parameters.',
      issues: unasked.map((name) => ({ path: ['query', name], message: 'This field is not known' })),
    })
  for (const part of parts) {
    const schema: z.ZodType | undefined = operation[part]
    if (!schema) continue
    const parsed = schema.safeParse(raw[part])
    if (!parsed.success) {
      const issues = issuesOf(parsed.error, part === 'body' ? [] : [part])
      throw new Problem('invalid', {
        detail: `${issues.length === 1 ? 'One field is' : `${issues.length} fields are`} not valid.`,
        issues: issues.slice(0, 100),
      })
    }
    input[part] = parsed.data
  }
  input.upload = raw.upload
  return input as unknown as Input<O>
}
