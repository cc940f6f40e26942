import { scopeSign } from '#lib/kernel/scoped-ids.ts'

/** SQL: the stored id of a column in the form that clients and other stores use. */
export const shownSql = (column: string): string => `substr(${column}, strpos(${column}, '${scopeSign}') + 1)`
/** SQL: the possible stored ids for an id given by a client, in a project: the id itself, and the id with its project. */
export const possibleSql = (project: string, given: string): string =>
  `ARRAY[${given}, ${project} || '${scopeSign}' || ${given}]`
