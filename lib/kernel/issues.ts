import type { z } from 'zod'
import type { Issue } from './problem.ts'

/** The issues of a schema error, each with its path below `at`. An unknown field is reported under its own path. */
export const issuesOf = (error: z.ZodError, at: Issue['path'] = []): Issue[] =>
  error.issues.flatMap((issue) => {
    const path = [...at, ...issue.path.map((step) => (typeof step === 'symbol' ? String(step) : step))]
    if (issue.code === 'unrecognized_keys')
      return issue.keys.map((key) => ({ path: [...path, key], message: 'This field is not known' }))
    return [{ path, message: issue.message }]
  })
