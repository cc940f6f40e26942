import type { z } from 'zod'
import type { Issue } from './problem.ts'

/** The faults that a schema found, each by its path below `at`; a field that is not known is named itself. */
export const issuesOf = (error: z.ZodError, at: Issue['path'] = []): Issue[] =>
  error.issues.flatMap((issue) => {
    const path = [...at, ...issue.path.map((step) => (typeof step === 'symbol' ? String(step) : step))]
    if (issue.code === 'unrecognized_keys')
      return issue.keys.map((key) => ({ path: [...path, key], message: 'This field is not known' }))
    return [{ path, message: issue.message }]
  })
