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
export type StatusStage = (typeof statusStages)[number]

/** Maximum number of emails from the form to one address within an hour. */
export const formEmailsPerHour = 3
/** Maximum attempts with the form from one network within a minute. */
export const formTriesPerMinute = 10
/** Maximum number of suggested participants. */
export const mostSuggested = 20
