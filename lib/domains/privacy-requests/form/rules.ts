/** What a requester without an account sees of the state of a request. */
export const statusStages = [
  'in_review',
  'confirm_by_email',
  'verifying_identity',
  'grace_period',
  'in_progress',
  'delayed',
  'answered',
  'completed',
  'partly_completed',
  'cancelled',
  'refused',
] as const
/** How a requester gets a ready copy: in their account, with this link, with a link from a later email, or from the organization. */
export const copyDeliveries = ['sign_in', 'download', 'email', 'organization'] as const
export type CopyDelivery = (typeof copyDeliveries)[number]
/** Milliseconds after the verification in which a request for a copy opens the export of a participant. */
export const copyOpen = 30 * 86_400_000

export type StatusStage = (typeof statusStages)[number]

/** Maximum number of emails from the form to one address within an hour, for the forms of one network and of all networks. */
export const formEmailsPerHour = 3
export const maxFormEmailsPerHour = 12
/** Maximum attempts with the form from one network within a minute. */
export const formTriesPerMinute = 10
/** Maximum number of suggested participants. */
export const maxSuggested = 20

/** Returns the status page of a token, which follows `#`: browsers do not send it to servers. */
export const statusPageOf = ({ origin }: { origin: string }, token: string): string =>
  `${origin}/request/status#${token}`
