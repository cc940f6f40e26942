import type { App } from './app.ts'
import { adminTokenLife, type Scope } from './domains/tokens/rules.ts'
import type { Transaction } from './kernel/context.ts'
import { newId } from './kernel/ids.ts'
import { Problem } from './kernel/problem.ts'

export interface OperatorToken {
  agentId: string
  tokenId: string
  key: string
  prefix: string
  scopes: Scope[]
  expiresAt: Date | null
}
const operatorId = 'operator'

/** The admin who was first, with the organisation that tools of the operator belong to. */
export async function firstAdmin(tx: Transaction): Promise<{ id: string; organisationId: string }> {
  const admin = await tx.account.findFirst({
    where: { role: 'admin' },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
    select: { id: true, organisationId: true },
  })
  if (!admin) throw new Problem('not_found', 'There is no admin yet. Run npm start once: it makes the first.')
  return admin
}

/**
 * What whoever runs the machine does by hand, without a token: having the database is the right to it. Everything is audited as
 * `system:admin.<what>`.
 */
export function operator(app: App) {
  const { gate, agents, tokens } = app
  const audit = (
    tx: Transaction,
    what: string,
    entry: {
      action: 'create' | 'update' | 'delete'
      resourceType: string
      resourceId: string
      details: Record<string, unknown>
    },
  ) => gate.auditWithin(tx, { actorId: `system:admin.${what}`, at: gate.clock.now(), ip: '', ...entry })

  /** The operator's agent. One that a stranger registered under that name is theirs, and is left alone. */
  async function operatorAgent(tx: Transaction): Promise<string> {
    const admin = await firstAdmin(tx)
    const found = await tx.agent.findFirst({
      where: { ownerId: admin.id, OR: [{ id: operatorId }, { id: { startsWith: `${operatorId}-` } }] },
      orderBy: { createdAt: 'asc' },
      select: { id: true },
    })
    if (found) return found.id
    const isTaken = (await tx.agent.count({ where: { id: operatorId } })) > 0
    const agentId = isTaken ? newId(operatorId).replace('_', '-') : operatorId
    const now = gate.clock.now()
    await agents.issueAgent(tx, {
      agentId,
      name: 'Operator',
      ownerId: admin.id,
      organisationId: admin.organisationId,
      tier: 'enterprise',
      isConsentExplicit: false,
      now,
    })
    await audit(tx, 'token', { action: 'create', resourceType: 'agent', resourceId: agentId, details: {} })
    return agentId
  }

  return {
    /** A new token of the operator's own agent, which is made at the first call. Throws `not_found`, `conflict`. */
    issueToken: (scopes: readonly Scope[], name: string): Promise<OperatorToken> =>
      gate.transaction(async (tx) => {
        const agentId = await operatorAgent(tx)
        const now = gate.clock.now()
        const expiresAt = scopes.includes('admin') ? new Date(now.getTime() + adminTokenLife) : null
        const made = await tokens.issue(tx, { agentId, scopes, name, expiresAt, now })
        await audit(tx, 'token', {
          action: 'create',
          resourceType: 'token',
          resourceId: made.id,
          details: { agent_id: agentId, scopes: made.scopes },
        })
        return { agentId, tokenId: made.id, key: made.key, prefix: made.prefix, scopes: made.scopes, expiresAt }
      }),

    /** Erases again what the ledger says was erased and a restored backup brought back. Audited as `system:admin.replay`. */
    replayErasures: app.replayErasures,
  }
}
