import type { Scope, Subject } from '#lib/kernel/holder.ts'

/** The subject, where the scope is one. */
export const subjectOf = (scope: Scope): Subject | undefined => ('subject' in scope ? scope.subject : undefined)

/** As rows name who did something: agents by their ids, a person as the audit log does. */
export const doersOf = ({ account, agents }: Subject): string[] => [
  ...agents,
  ...(account === null ? [] : [`user:${account}`]),
]
