const day = 86_400_000
/** Milliseconds after which somebody gets another key, and nobody can say any more who they were. */
export const keyKept = 30 * day
/** Events that wait at most; what comes on top is dropped and counted. */
export const mostWaiting = 1_000

export const dropReasons = ['undeclared', 'invalid', 'withheld', 'full', 'failed'] as const
export type DropReason = (typeof dropReasons)[number]

/** Whom an event is of; null: nobody, and then it has a number that is drawn for it alone. */
export type Told = { kind: 'account' | 'agent'; id: string } | null
