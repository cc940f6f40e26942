/** Operations that can wait for the approval of a second admin. */
export const approvableOperations = [
  'changeUserRole',
  'inviteUser',
  'deactivateUser',
  'reactivateUser',
  'removeUserSecondFactors',
  'sendUserReset',
  'changeSecondFactorRequirement',
  'createToken',
  'rotateToken',
  'createHold',
  'releaseHold',
  'editRetention',
  'resetRetention',
  'sweepRetention',
  'retireStore',
  'assignStoreNamespaces',
  'verifyPrivacyRequestByAdmin',
  'filePrivacyRequestForParticipant',
  'changeApprovalSetting',
] as const

export const proposalStatuses = [
  'waiting',
  'approved',
  'carried_out',
  'rejected',
  'withdrawn',
  'outdated',
  'expired',
] as const
export type ProposalStatus = (typeof proposalStatuses)[number]

/** Milliseconds from the proposal until it can be neither approved nor carried out. */
export const proposalLife = 72 * 3_600_000
/** Milliseconds for which closed proposals are retained, without their content. */
export const closedProposalRetention = 90 * 24 * 3_600_000
/** The most open proposals of one admin. */
export const maxOpenProposals = 20
/** The most proposals of one admin within a day: each one sends emails. */
export const maxProposalsPerDay = 50

/** The status at a time: an open proposal expires. */
export const statusAt = (stored: ProposalStatus, expiresAt: Date, now: Date): ProposalStatus =>
  (stored === 'waiting' || stored === 'approved') && expiresAt <= now ? 'expired' : stored
