export const snapshotStates = ['preparing', 'ready', 'failed'] as const
export const stateTypes = [
  'application/json',
  'application/x-ndjson',
  'text/plain',
  'application/octet-stream',
] as const
/** Bytes of the state that an agent uploads. */
export const stateBytes = 50 * 1024 * 1024
/** Bytes of one restoration, and of a line of it: a document in JSON may be several times as long as it is. */
export const restoreBytes = 1024 * 1024 * 1024
export const restoreLineBytes = 2 * 1024 * 1024
/** On-demand snapshots of an agent that are there at once. */
export const mostOnDemand = 4
/** On-demand snapshots that are asked for of an agent within an hour, those counted that failed or were deleted. */
export const mostInHour = 12
/** Insurances of an agent that are kept: a day of its life, so that one bad state does not take the place of every good one. */
export const mostInsurances = 4
/** Links to one snapshot that are good at once. */
export const mostLinks = 16
/** Places that a refusal names at most. */
export const mostPlaces = 20

const hour = 3_600_000
/** For how long it counts that a snapshot was asked for. */
export const countedFor = hour
/** From when it was asked for. */
export const onDemandFor = 4 * hour
const linkFor = 4 * hour
export const insuredEvery = 6 * hour
/** From the agent's death. */
export const insuredFor = 30 * 24 * hour
/** For how long a snapshot that failed, and why, is shown. */
export const failureFor = 24 * hour

export const snapshotIdForm = /^snap_[0-9A-Za-z]{22}$/

export const onDemandUntil = (createdAt: Date): Date => new Date(createdAt.getTime() + onDemandFor)
/** A link ends with its snapshot at the latest. */
export const linkUntil = (now: Date, expiresAt: Date | null): Date =>
  new Date(Math.min(now.getTime() + linkFor, expiresAt?.getTime() ?? Number.POSITIVE_INFINITY))

/** Where a secret stands that must not be in a snapshot: which kind it is, and never what it is. */
export interface Place {
  kind: string
  path: string
}
