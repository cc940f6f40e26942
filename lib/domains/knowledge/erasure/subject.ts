import type { ErasureScope, Subject } from '#lib/kernel/erasure-scope.ts'

/** The scope's subject, if it has one. */
export const erasedSubjectOf = (scope: ErasureScope): Subject | undefined =>
  'subject' in scope ? scope.subject : undefined

/** Actor ids of the subject in rows: agents by id, a person as in the audit log. */
export const subjectActorsOf = ({ account, agents }: Subject): string[] => [
  ...agents,
  ...(account === null ? [] : [`user:${account}`]),
]
