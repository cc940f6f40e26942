export const snapshotStates = ['preparing', 'ready', 'failed'] as const
export const stateTypes = [
  'application/json',
  'application/x-ndjson',
  'text/plain',
  'application/octet-stream',
] as const
/** Maximum bytes of an uploaded state. */
export const stateBytes = 50 * 1024 * 1024
/** Maximum bytes of a restoration, and of one line. A document can be several times as long in JSON. */
export const restoreBytes = 1024 * 1024 * 1024
export const restoreLineBytes = 2 * 1024 * 1024
/** On-demand snapshots that an agent can have at the same time. */
export const maxOnDemand = 4
/** On-demand snapshots that an agent can order within an hour, including failed and deleted ones. */
export const maxInHour = 12
/** Insurance snapshots kept per agent: one day of its life, so that one bad state does not replace every good one. */
export const maxInsurances = 4
/** Valid links per snapshot. */
export const maxLinks = 16
/** Maximum number of places that a rejection names. */
export const maxSecretLocations = 20

const hour = 3_600_000
/** How long an order counts towards the hourly limit. */
export const countedFor = hour
/** From the order. */
export const onDemandFor = 4 * hour
const linkFor = 4 * hour
export const insuredEvery = 6 * hour
/** From the retirement of the agent. */
export const insuredFor = 30 * 24 * hour
/** How long a failed snapshot and its reason are shown. */
export const failureFor = 24 * hour

export const snapshotIdForm = /^snap_[0-9A-Za-z]{22}$/

export const onDemandUntil = (createdAt: Date): Date => new Date(createdAt.getTime() + onDemandFor)
/** A link expires with its snapshot at the latest. */
export const linkUntil = (now: Date, expiresAt: Date | null): Date =>
  new Date(Math.min(now.getTime() + linkFor, expiresAt?.getTime() ?? Number.POSITIVE_INFINITY))

/** The place of a secret that a snapshot must not contain: its kind, never its value. */
export interface SecretLocation {
  kind: string
  path: string
}
