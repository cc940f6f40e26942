import type { Scope, Subject } from '#lib/kernel/holder.ts'

/** The scope's subject, if it has one. */
export const subjectOf = (scope: Scope): Subject | undefined => ('subject' in scope ? scope.subject : undefined)

/** Actor ids of the subject in rows: agents by id, a person as in the audit log. */
export const doersOf = ({ account, agents }: Subject): string[] => [
  ...agents,
  ...(account === null ? [] : [`user:${account}`]),
]
