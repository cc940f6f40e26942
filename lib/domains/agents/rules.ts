import type { Scope, TierName } from '#lib/domains/tokens/rules.ts'
import { freedOf, type Restriction, restrictedBy } from '#lib/kernel/restriction.ts'

/** 3 to 64 characters; no colon, which `user:<id>` and `system:<job>` have. */
export const agentIdForm = /^[A-Za-z0-9][A-Za-z0-9_.-]{2,63}$/
/** Actors that are no agents, what stands beside agents' ids in a path of the API, and what stands in place of an id elsewhere. */
const reservedWords = new Set(
  'anonymous leaderboard system user subject nobody erased admin bulk list query service ended jwks validate'.split(
    ' ',
  ),
)
/** As ids of ours begin, pseudonyms of the erased among them; agents that the registry names itself are `agent_…`. */
const reservedForms =
  /^(usr|preq|req|run|rcpt|exp|hold|org|tok|ses|plan|swp|batch|imp|job|prj|conv|msg|doc|att|prov|edit|store|adoc|chain|ent|shr|cld|key|snap|llm|erased|system|user)[_-]/
/** As jobs and holders are called: `<domain>.<word>`, and three domains by themselves. */
const reservedNames =
  /^((accounts|agents|audit|cache|checkpoints|clades|erasure|exports|graph|grimoire|holds|idempotency|installation|knowledge|llm-log|mail|objects|privacy|projects|queue|quotas|reputation|residency|retention|settings|skills|snapshots|sops|stores|telemetry|tokens|units)\..*|accounts|agents|tokens)$/
/**
 * Whether nobody may register under this id, so that no agent is called what something else is called. Agents of former days may have
 * such an id: nothing may rely on it.
 */
export function isReserved(id: string): boolean {
  const small = id.toLowerCase()
  return reservedWords.has(small) || reservedForms.test(small) || reservedNames.test(small)
}

export const registrationModes = ['open', 'invite', 'closed'] as const
export type RegistrationMode = (typeof registrationModes)[number]
export type LawfulBasis = 'consent' | 'contract' | 'legitimate_interest'
/** The privacy notice that is in force. */
export interface Notice {
  version: string
  url: string
}
/** Changes whenever the notice says something else; consent names it. */
export const noticeVersion = '2026-11-22.2'

export interface Grant {
  scopes: Scope[]
  tier: TierName
}
export interface Wanted {
  scopes?: Scope[] | undefined
  tier?: TierName | undefined
}
export type Verdict = { granted: Grant } | { refused: string }

const anybody: Grant = { scopes: ['read', 'write'], tier: 'free' }

/**
 * What a registration gets: what it asks for, or a refusal; never less than it asked for, and never more than is its giver's to give.
 * Anybody has read, write and the tier free; an invitation gives its own scopes and tier instead; an admin gives everything.
 */
export function judgeRegistration(wanted: Wanted, invite: Grant | undefined, isAdmin: boolean): Verdict {
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
        ? `The invitation does not give the scope "${beyond}".`
        : `The scope "${beyond}" is an admin's to give.`,
    }
  if (granted.tier !== 'free' && granted.tier !== offered.tier)
    return { refused: `The tier "${granted.tier}" is an admin's to give.` }
  return { granted }
}

/** What is recorded about the ground of processing (GDPR art. 6, 7(1)): basis, version, time and way. */
export function consentRecord(basis: LawfulBasis, notice: Notice, isExplicit: boolean, now: Date) {
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
/** Withdrawing restricts in the same instant; who was restricted before stays so since then. */
export const withdrawn = (state: ConsentState, now: Date): ConsentState => ({
  consentWithdrawnAt: state.consentWithdrawnAt ?? now,
  ...restrictedBy(state, 'consent', now),
})
/** Fresh consent lifts the restriction that the withdrawal brought, and no other. */
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
/** Tier and limits after an edit; undefined when limits of its own are asked for outside enterprise. */
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

/** How an agent stands, for its owner. */
export const agentStates = ['active', 'paused', 'suspended', 'erasing'] as const
export type AgentState = (typeof agentStates)[number]
/** The gravest that holds: what is being erased is also suspended, and may have been paused before. */
export function stateOf(agent: { restrictedAt: Date | null; suspendedAt: Date | null; isFenced: boolean }): AgentState {
  if (agent.isFenced) return 'erasing'
  if (agent.suspendedAt) return 'suspended'
  return agent.restrictedAt ? 'paused' : 'active'
}

/** How far an owner's list counts what an agent holds. */
export const countedTo = 10_001
/** Agents of one owner that may be there without a single use: nobody fills the registry from a browser. */
export const mostUnusedAgents = 20

const hour = 3_600_000
/** Registrations from one network within an hour, above which further agents share one rate-limit window. */
export const registrationsPerHour = 60
export const registrationWindow = hour
/** Milliseconds after which an agent that never used its token is removed. */
export const unusedAfter = 24 * hour
/** Milliseconds that a used or expired invitation is kept. */
export const invitesKept = 7 * 24 * hour
