import { type TierName, type TokenScope, tierLimits, tiers } from '#lib/domains/tokens/rules.ts'
import { freedOf, type Restriction, restrictedBy } from '#lib/kernel/restriction.ts'

/** Actors that are not agents, path segments next to agent ids in the API, and placeholders that other data uses instead of an id. */
const reservedWords = new Set(
  'anonymous leaderboard system user subject nobody erased admin bulk list query service ended jwks validate'.split(
    ' ',
  ),
)
/** Prefixes of our own ids, including pseudonyms of erased names. Agents that the registry names itself are called `agent_…`. */
const reservedForms =
  /^(usr|preq|req|run|rcpt|exp|hold|org|tok|ses|plan|swp|batch|imp|job|prj|conv|msg|doc|att|prov|edit|store|adoc|chain|ent|shr|cld|key|snap|llm|erased|system|user)[_-]|^(app|emc|erase|fct|file|kpi|ntc|pform|plc|ptp|read|rej|rep|rlr|srch|state|supk)_/
/** Names of jobs and data sources (`<domain>.<word>`), and three domain names. */
const reservedNames =
  /^((accounts|agents|approvals|audit|cache|checkpoints|clades|erasure|exports|graph|grimoire|holds|idempotency|installation|knowledge|llm-log|mail|objects|privacy|projects|queue|quotas|reputation|residency|retention|settings|skills|snapshots|sops|stores|telemetry|tokens|units)\..*|accounts|agents|tokens)$/
/**
 * Whether the id is reserved, so that no agent has the name of something else. Agents registered with earlier versions may have such an id,
 * so nothing may rely on it.
 */
export function isReserved(id: string): boolean {
  const small = id.toLowerCase()
  return reservedWords.has(small) || reservedForms.test(small) || reservedNames.test(small)
}

export const registrationModes = ['open', 'invite', 'closed'] as const
export type RegistrationMode = (typeof registrationModes)[number]
export type LawfulBasis = 'consent' | 'contract' | 'legitimate_interest'
/** The current privacy notice. */
export interface PrivacyNotice {
  version: string
  url: string
}
/** Changes with every change of the notice's text; consent refers to it. */
export const noticeVersion = '2026-11-22.2'

export interface Grant {
  scopes: TokenScope[]
  tier: TierName
}
export interface RequestedGrant {
  scopes?: TokenScope[] | undefined
  tier?: TierName | undefined
}
export type RegistrationDecision = { granted: Grant } | { refused: string }

const anybody: Grant = { scopes: ['read', 'write'], tier: 'free' }

/**
 * Grants exactly what a registration asks for, or refuses it. Anyone may get `read`, `write` and the free tier; an invitation allows its
 * own scopes and tier instead; an admin may grant everything.
 */
export function decideRegistration(
  wanted: RequestedGrant,
  invite: Grant | undefined,
  isAdmin: boolean,
): RegistrationDecision {
  const offered = invite ?? anybody
  const granted: Grant = {
    scopes: wanted.scopes ?? (invite ? invite.scopes : ['read']),
    tier: wanted.tier ?? offered.tier,
  }
  if (isAdmin) return { granted }
  const beyond = granted.scopes.find((scope) => !offered.scopes.includes(scope))
  if (beyond)
    return {
      refused: invite
        ? `The invitation does not grant the scope "${beyond}".`
        : `Only an admin can grant the scope "${beyond}".`,
    }
  if (granted.tier !== 'free' && granted.tier !== offered.tier)
    return { refused: `Only an admin can grant the tier "${granted.tier}".` }
  return { granted }
}

/** Record of the lawful basis (GDPR art. 6, 7(1)): basis, notice version, time and form of consent. */
export function consentRecord(basis: LawfulBasis, notice: PrivacyNotice, isExplicit: boolean, now: Date) {
  const isGiven = isExplicit || basis === 'consent'
  return {
    lawfulBasis: basis,
    noticeVersion: notice.version,
    consentAt: isGiven ? now : null,
    consentVia: isExplicit ? 'explicit' : isGiven ? 'registration' : null,
  }
}

export interface ConsentState extends Restriction {
  consentWithdrawnAt: Date | null
}
/** Withdrawing consent restricts processing immediately; an existing restriction keeps its start time. */
export const withdrawn = (state: ConsentState, now: Date): ConsentState => ({
  consentWithdrawnAt: state.consentWithdrawnAt ?? now,
  ...restrictedBy(state, 'consent', now),
})
/** New consent lifts only the restriction that the withdrawal caused. */
export const givenAgain = (state: ConsentState): ConsentState => ({
  consentWithdrawnAt: null,
  ...freedOf(state, 'consent'),
})

export interface OwnLimits {
  readsPerMinute: number | null
  writesPerMinute: number | null
}
interface LimitsEdit {
  tier?: TierName | undefined
  limits?: { reads_per_minute?: number | undefined; writes_per_minute?: number | undefined } | null | undefined
}
/** Tier and limits after an edit; undefined when individual limits are requested for a tier other than enterprise. */
export function edited(
  now: OwnLimits & { tier: TierName },
  edit: LimitsEdit,
): (OwnLimits & { tier: TierName }) | undefined {
  const tier = edit.tier ?? now.tier
  const none = { tier, readsPerMinute: null, writesPerMinute: null }
  if (tier !== 'enterprise') return edit.limits ? undefined : none
  if (edit.limits === null) return none
  return {
    tier,
    readsPerMinute: edit.limits?.reads_per_minute ?? now.readsPerMinute,
    writesPerMinute: edit.limits?.writes_per_minute ?? now.writesPerMinute,
  }
}

/** Whether an edit leaves the agent with a smaller tier, on which the storage quota of its organization depends, or with smaller limits. */
export function isReduction(before: OwnLimits & { tier: TierName }, after: OwnLimits & { tier: TierName }): boolean {
  const limitsOf = ({ tier, readsPerMinute, writesPerMinute }: typeof before) => [
    tiers.indexOf(tier),
    readsPerMinute ?? tierLimits[tier].reads,
    writesPerMinute ?? tierLimits[tier].writes,
  ]
  const next = limitsOf(after)
  return limitsOf(before).some((limit, at) => limit > (next[at] ?? 0))
}

/** State of an agent in its owner's view. */
export const agentStates = ['active', 'paused', 'suspended', 'erasing'] as const
export type AgentState = (typeof agentStates)[number]
/** Returns the most serious state that applies: an agent being erased is also suspended, and may also be paused. */
export function agentStateOf(agent: {
  restrictedAt: Date | null
  suspendedAt: Date | null
  isFenced: boolean
}): AgentState {
  if (agent.isFenced) return 'erasing'
  if (agent.suspendedAt) return 'suspended'
  return agent.restrictedAt ? 'paused' : 'active'
}

/** Counts in an owner's list stop here. */
export const ownAgentsCountedTo = 10_001
/** Maximum number of never used agents per owner, so that nobody can fill the registry from a browser. */
export const maxUnusedAgents = 20
/** Maximum number of agents of the tier free per owner. Each has limits of its own, so that without a bound an account would have none. */
export const maxFreeAgents = 100

const hour = 3_600_000
/** Registrations per network and hour; further agents share one rate limit window. */
export const registrationsPerHour = 60
export const registrationWindow = hour
/** Milliseconds after which an agent that never used its token is deleted. */
export const unusedAfter = 24 * hour
/** Retention of used or expired invitations, in milliseconds. */
export const inviteRetention = 7 * 24 * hour
