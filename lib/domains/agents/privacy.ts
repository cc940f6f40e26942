import { recallOfRestricted } from '#lib/domains/clades/writes.ts'
import type { Actor, MutationContext } from '#lib/kernel/context.ts'
import type { Subject } from '#lib/kernel/erasure-scope.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { type Restriction, restrictionReasons } from '#lib/kernel/restriction.ts'
import { mutation, read, requireRecentPassword } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import {
  giveConsent,
  readNotice,
  readRestriction,
  setRestriction,
  withdrawAllConsent,
  withdrawConsent,
} from './contract.ts'
import type { AgentPorts } from './ports.ts'
import { agentOf } from './queries.ts'
import { type AgentRow, countRestrictions } from './repository.ts'
import { givenAgain, type PrivacyNotice, withdrawn } from './rules.ts'
import { type AgentStatusChange, agentStatusesOf, type agentStatusPorts, changeAgentStatuses } from './status.ts'

/** The data subject of the request: a person with all their agents, or a single agent. */
function selfOf({ kind, id, accountId }: Actor): Subject {
  if (kind === 'agent') return { account: null, agents: [id] }
  if (accountId === undefined) throw new Problem('sign_in_needed')
  return { account: accountId, agents: [] }
}

/** A read-only token cannot change an agent's restriction or consent. */
function refuseReaders({ kind, scopes }: Actor): void {
  if (kind === 'agent' && !scopes.some((scope) => scope === 'write' || scope === 'admin'))
    throw new Problem('scope_too_small', 'This operation requires a token with the scope "write".')
}

const entriesOf = ({ account, agents }: AgentStatusChange, details: Record<string, unknown>) => [
  ...(account === null ? [] : [{ resourceType: 'account', resourceId: account, details }]),
  ...agents.map((resourceId) => ({ resourceId, details })),
]
/** Creates one audit entry per changed account and agent; a repeated request gets one entry with `changed: false`. */
const audited = (change: AgentStatusChange, asked: string, details: Record<string, unknown>) => {
  const entries = entriesOf(change, details)
  return {
    resourceId: asked,
    entries: entries.length > 0 ? entries : [{ resourceId: asked, details: { changed: false } }],
  }
}

type Accounts = AgentPorts['accounts']
type StatusPorts = ReturnType<typeof agentStatusPorts>
interface ReadingDeps {
  db: Database
  accounts: Accounts
}

/** Returns the named agent, locked, if the actor is it or owns it. Agents of others look nonexistent. */
async function ownAgent({ actor, tx }: MutationContext, id: string) {
  const agent = await agentOf(tx, id, { lock: true })
  const isOwn = agent && (actor.kind === 'agent' ? actor.id === agent.id : actor.accountId === agent.ownerId)
  if (!isOwn) throw new Problem('not_found', 'No agent with this id exists, or it is not yours.')
  return agent
}

/** A leaked token must not lift a person's restriction, and a request for one agent must not lift a restriction of all. */
async function refuseLifting(accounts: Accounts, ctx: MutationContext, ownerId: string | null): Promise<void> {
  if (ownerId === null) return
  if (ctx.actor.kind === 'agent')
    throw new Problem('forbidden', 'Only the owner of this agent can lift its restriction. The owner must sign in.')
  const restriction = await accounts.statusOf(ctx.tx, ownerId)
  if (restriction?.restrictedFor.includes('request'))
    throw new Problem(
      'conflict',
      'You restricted all your agents together, so nothing was changed. Lift that restriction by omitting agent_id.',
    )
}

async function subjectOf(
  accounts: Accounts,
  ctx: MutationContext,
  body: { restricted: boolean; agent_id?: string | undefined },
) {
  const { actor } = ctx
  refuseReaders(actor)
  // What others read while the restriction is lifted cannot be recalled, so a copied cookie is not enough.
  if (!body.restricted) requireRecentPassword(ctx)
  const id = body.agent_id ?? (actor.kind === 'agent' ? actor.id : undefined)
  if (id === undefined) return selfOf(actor)
  const agent = await ownAgent(ctx, id)
  if (!body.restricted) await refuseLifting(accounts, ctx, agent.ownerId)
  return { account: null, agents: [agent.id] }
}

/** The restriction of an agent, or of a person if none is named. */
async function restrictionOf(
  { db, accounts }: ReadingDeps,
  accountId: string | undefined,
  agentId: string | null,
): Promise<Restriction | undefined> {
  if (agentId === null) return accountId === undefined ? undefined : accounts.statusOf(db.prisma, accountId)
  return (await agentOf(db.prisma, agentId)) ?? undefined
}

const restrictionView = ({ restrictedAt, restrictedFor }: Restriction) => ({
  restricted: restrictedAt !== null,
  restricted_at: restrictedAt,
  restricted_for: restrictionReasons.filter((reason) => restrictedFor.includes(reason)),
})

const readOne = ({ db, accounts }: ReadingDeps) =>
  read(readRestriction, async ({ actor }, { query: { agent_id: named } }) => {
    const agent = named ?? (actor.kind === 'agent' ? actor.id : null)
    // Agents of others look nonexistent.
    const isOwn = agent === null || actor.agents.includes(agent)
    const [found, [counted]] = isOwn
      ? await Promise.all([
          restrictionOf({ db, accounts }, actor.accountId, agent),
          countRestrictions(db, { owner: actor.accountId ?? null, agent }),
        ])
      : [undefined, []]
    if (!found || !counted) throw new Problem('not_found', 'No agent with this id exists, or it is not yours.')
    return {
      resourceId: agent ?? actor.id,
      body: {
        data: {
          agent_id: agent,
          ...restrictionView(found),
          agents: counted.agents,
          restricted_agents: counted.restricted,
          withdrawn_agents: counted.withdrawn,
        },
      },
    }
  })

const set = (accounts: Accounts, { restrict, unrestrict }: Pick<StatusPorts, 'restrict' | 'unrestrict'>) =>
  mutation(setRestriction, async (ctx, { body }) => {
    const { tx, now } = ctx
    const subject = await subjectOf(accounts, ctx, body)
    const change = await (body.restricted ? restrict : unrestrict)(tx, subject, 'request', now)
    const statuses = await agentStatusesOf(tx, subject)
    const [only] = statuses
    const after = subject.account === null ? only : await accounts.statusOf(tx, subject.account)
    if (!after) throw new Problem('not_found', 'No agent with this id exists, or it is not yours.')
    const stays = statuses.filter(({ restrictedAt }) => restrictedAt !== null).length
    return {
      ...audited(change, subject.account ?? subject.agents[0] ?? '', {
        fields: ['restricted_at', 'restricted_for'],
        on: body.restricted,
      }),
      body: {
        data: {
          agent_id: subject.account === null ? (subject.agents[0] ?? null) : null,
          ...restrictionView(after),
          agents: statuses.length,
          changed: change.agents.length,
        },
        message: body.restricted
          ? 'Processing is now restricted: nothing more is written, and existing contributions are neither found nor shared. Nothing was erased. Reading, exporting and erasing still work. To lift the restriction, send {"restricted": false}.'
          : after.restrictedAt !== null || stays > 0
            ? 'This restriction is lifted, but another one remains. For a withdrawn consent, give consent again with POST /v1/auth/consent. For an objection, wait for its outcome.'
            : 'The restriction is lifted. Everything works as before.',
      },
    }
  })

const withdrawAll = () =>
  mutation(withdrawAllConsent, async ({ tx, now, actor }) => {
    refuseReaders(actor)
    const statuses = await agentStatusesOf(tx, selfOf(actor))
    const agents = await changeAgentStatuses(tx, statuses, (status) => withdrawn(status, now), now)
    return {
      ...audited({ account: null, agents }, actor.accountId ?? actor.id, {
        fields: ['consent_withdrawn_at', 'restricted_at', 'restricted_for'],
      }),
      body: {
        data: { agents: statuses.length, changed: agents.length },
        message:
          'Consent is withdrawn: nothing more is written for these agents, and their contributions are neither found nor shared. Nothing was erased. To erase everything and get a signed receipt, send POST /api/privacy/requests with {"kinds": ["erasure"]}. To participate again, send POST /v1/auth/consent for each agent.',
      },
    }
  })

/** Restriction of processing and withdrawal of consent by the data subject, for one agent or for all. */
export const agentRestriction = (
  db: Database,
  accounts: AgentPorts['accounts'],
  statuses: Pick<StatusPorts, 'restrict' | 'unrestrict'>,
) => ({
  readRestriction: readOne({ db, accounts }),
  setRestriction: set(accounts, statuses),
  withdrawAllConsent: withdrawAll(),
})

/** Rejects consent to any version but the current one (422): consent only covers the text that was read. */
export function refuseOtherNotice(version: string, notice: PrivacyNotice, path: string[]): void {
  if (version !== notice.version)
    throw new Problem('invalid', {
      detail: `The current version of the privacy notice is ${notice.version}. Read ${notice.url} and send this version.`,
      issues: [{ path, message: `must be the current version, ${notice.version}` }],
    })
}

/**
 * Records explicit consent of an agent that exists, and returns the agent. A token needs `write`, and cannot undo the withdrawal by the person who
 * owns the agent; this person needs a recently entered password for it, because what others read meanwhile cannot be recalled.
 */
export async function recordConsent(ctx: MutationContext, agent: AgentRow, notice: PrivacyNotice): Promise<AgentRow> {
  const { actor, tx, now } = ctx
  refuseReaders(actor)
  if (agent.consentWithdrawnAt !== null) {
    if (actor.kind === 'agent' && agent.ownerId !== null)
      throw new Problem('forbidden', 'Only the owner of this agent can give consent again. The owner must sign in.')
    requireRecentPassword(ctx)
  }
  return tx.agent.update({
    where: { id: agent.id },
    data: { ...givenAgain(agent), noticeVersion: notice.version, consentAt: now, consentVia: 'explicit' },
  })
}

/** Returns the agent that the actor represents, locked: itself, or one that the person owns. Agents of others look nonexistent. */
async function spokenFor({ actor, tx }: MutationContext, named: string | undefined): Promise<AgentRow> {
  refuseReaders(actor)
  const id = named ?? (actor.agents.length === 1 ? actor.agents[0] : undefined)
  if (id === undefined) throw invalid(['agent_id'], 'is required, because you have several agents')
  const agent = await agentOf(tx, id, { lock: true })
  const isOwn = agent && (actor.kind === 'agent' ? actor.id === agent.id : actor.accountId === agent.ownerId)
  if (!isOwn) throw new Problem('not_found', 'No agent with this id exists, or it is not yours.')
  return agent
}

const consentView = (agent: AgentRow) => ({
  agent_id: agent.id,
  policy_version: agent.noticeVersion,
  consent_at: agent.consentAt,
  consent_withdrawn_at: agent.consentWithdrawnAt,
  restricted_at: agent.restrictedAt,
})

/** Giving and withdrawing consent (GDPR art. 7). */
export const agentConsent = (notice: PrivacyNotice) => ({
  readNotice: read(readNotice, async () => ({ body: { data: notice }, resourceId: notice.version })),

  withdrawConsent: mutation(withdrawConsent, async (ctx, { query }) => {
    const agent = await spokenFor(ctx, query.agent_id)
    const next = await ctx.tx.agent.update({ where: { id: agent.id }, data: withdrawn(agent, ctx.now) })
    if (agent.restrictedAt === null) await recallOfRestricted(ctx.tx, { agentIds: [agent.id], now: ctx.now })
    return {
      body: {
        data: consentView(next),
        message:
          'Processing is now restricted: nothing more is written for this agent, and its contributions are neither found nor shared. Nothing was erased. To erase a unit and get a signed receipt, send DELETE /v1/knowledge/{id}. To participate again, send POST /v1/auth/consent.',
      },
      resourceId: agent.id,
      details: {
        fields: ['consent_withdrawn_at', 'restricted_at', 'restricted_for'],
        changed: agent.consentWithdrawnAt === null,
      },
    }
  }),

  giveConsent: mutation(giveConsent, async (ctx, { body }) => {
    refuseOtherNotice(body.policy_version, notice, ['policy_version'])
    const agent = await spokenFor(ctx, body.agent_id)
    const next = await recordConsent(ctx, agent, notice)
    return {
      body: {
        data: consentView(next),
        message: next.restrictedAt
          ? 'Consent is recorded. The agent is still restricted for another reason than the withdrawn consent.'
          : 'Consent is recorded. To withdraw it, send DELETE /v1/auth/consent.',
      },
      resourceId: agent.id,
      details: {
        fields: ['consent_at', 'consent_withdrawn_at', 'restricted_at', 'restricted_for'],
        policy_version: notice.version,
      },
    }
  }),
})
