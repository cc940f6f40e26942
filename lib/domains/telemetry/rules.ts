const day = 86_400_000
/** Lifetime of a key in milliseconds. Afterwards its events are anonymous. */
export const pseudonymKeyRetention = 30 * day
/** Maximum number of waiting events. Further events are dropped and counted. */
export const maxWaiting = 1_000

export const dropReasons = ['undeclared', 'invalid', 'withheld', 'full', 'failed'] as const
export type DropReason = (typeof dropReasons)[number]

/** The subject of an event. Null: no subject, and the event gets a random id. */
export type EventSubject = { kind: 'account' | 'agent'; id: string } | null
