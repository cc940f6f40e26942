/**
 * An id chosen by a client is unique within its project and is stored as `<project>~<id>`. Chosen ids cannot contain the sign. Ids that
 * we generated, and ids chosen before this rule, are stored unchanged.
 */
export const scopeSign = '~'
export const scopedId = (project: string, chosen: string): string => `${project}${scopeSign}${chosen}`
/** The id as clients and other stores see it, without the project. */
export const shownId = (stored: string): string => stored.slice(stored.indexOf(scopeSign) + 1)
