/** Emails that their recipient can turn off. All other emails are required: see docs/adr/0082-optional-emails.md. */
export const emailKinds = ['requests', 'outages', 'controls', 'safety', 'approvals', 'storage'] as const
export type EmailKind = (typeof emailKinds)[number]
/** When an email of a kind is sent. `daily`: only in the daily digest. */
export const emailDeliveries = ['at_once', 'daily', 'never'] as const
export type EmailDelivery = (typeof emailDeliveries)[number]

interface EmailKindRule {
  /** Whether only admins get emails of this kind. */
  isForAdmins: boolean
  choices: readonly EmailDelivery[]
  /** The delivery for people who have not chosen one. */
  usual: EmailDelivery
  /** Whether at least one admin must get emails of this kind, so the last one cannot turn them off. */
  needsReceiver: boolean
  /** The digest also contains it for recipients who chose `at_once`, because it is about deadlines. */
  isInEveryDigest: boolean
}
const forAdmins = { isForAdmins: true, needsReceiver: false, isInEveryDigest: false } as const
export const emailKindRules: Readonly<Record<EmailKind, EmailKindRule>> = {
  requests: { ...forAdmins, choices: emailDeliveries, usual: 'at_once', needsReceiver: true, isInEveryDigest: true },
  outages: { ...forAdmins, choices: emailDeliveries, usual: 'at_once', needsReceiver: true },
  controls: { ...forAdmins, choices: ['daily', 'never'], usual: 'never' },
  safety: { ...forAdmins, choices: ['daily', 'never'], usual: 'never' },
  approvals: { ...forAdmins, choices: ['at_once', 'never'], usual: 'at_once' },
  storage: { ...forAdmins, isForAdmins: false, choices: ['at_once', 'never'], usual: 'at_once' },
}

/**
 * When a recipient gets emails of a kind. The only remaining recipient of a kind that somebody must get receives it as usual, even after
 * turning it off.
 */
export const effectiveDelivery = (kind: EmailKind, chosen: EmailDelivery, isOnlyReceiver: boolean): EmailDelivery =>
  chosen === 'never' && isOnlyReceiver ? emailKindRules[kind].usual : chosen

/** Whether the daily digest of a recipient contains the kind. */
export const isInDigest = (kind: EmailKind, delivery: EmailDelivery): boolean =>
  delivery === 'daily' || (delivery === 'at_once' && emailKindRules[kind].isInEveryDigest)
