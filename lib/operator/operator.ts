import type { App } from '#lib/app.ts'
import { accountDirectory } from '#lib/domains/accounts/queries.ts'
import { agentOf, oldestAgentNamed } from '#lib/domains/agents/queries.ts'
import { adminTokenLife, type TokenScope } from '#lib/domains/tokens/rules.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'

export interface OperatorToken {
  agentId: string
  tokenId: string
  key: string
  prefix: string
  scopes: TokenScope[]
  expiresAt: Date | null
}
const operatorId = 'operator'

/** The first admin, whose organization owns the operator's tools. */
export async function firstAdmin(tx: Transaction): Promise<{ accountId: string; organisationId: string }> {
  const admin = await accountDirectory.firstAdmin(tx)
  if (!admin) throw new Problem('not_found', 'No admin exists yet. Run npm start once to create the first admin.')
  return admin
}

/** Commands of the operator, who needs no token: access to the database authorizes them. Everything is audited as `system:admin.<what>`. */
export function operator(app: App) {
  const { pipeline, agents, tokens } = app
  const audit = (
    tx: Transaction,
    what: string,
    entry: {
      action: 'create' | 'update' | 'delete'
      resourceType: string
      resourceId: string
      details: Record<string, unknown>
    },
  ) => pipeline.auditWithin(tx, { actorId: `system:admin.${what}`, at: pipeline.clock.now(), ip: '', ...entry })

  /** The operator's agent. If another person registered an agent under that name, it is not used. */
  async function operatorAgent(tx: Transaction): Promise<string> {
    const admin = await firstAdmin(tx)
    const found = await oldestAgentNamed(tx, admin.accountId, operatorId)
    if (found !== undefined) return found
    const isTaken = (await agentOf(tx, operatorId)) !== null
    const agentId = isTaken ? newId(operatorId).replace('_', '-') : operatorId
    const now = pipeline.clock.now()
    await agents.issueAgent(tx, {
      agentId,
      name: 'Operator',
      ownerId: admin.accountId,
      organisationId: admin.organisationId,
      tier: 'enterprise',
      isConsentExplicit: false,
      now,
    })
    await audit(tx, 'token', { action: 'create', resourceType: 'agent', resourceId: agentId, details: {} })
    return agentId
  }

  return {
    /** Issues a token for the operator's own agent, which is created at the first call. @throws `not_found`, `conflict` */
    issueToken: (scopes: readonly TokenScope[], name: string): Promise<OperatorToken> =>
      pipeline.transaction(async (tx) => {
        const agentId = await operatorAgent(tx)
        const now = pipeline.clock.now()
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

    /** Erases again what a restored backup brought back, according to the ledger. Audited as `system:admin.replay`. */
    replayErasures: app.replayErasures,

    /** Records that a privacy request which a restored database lacks was handled. @throws `not_found` */
    async closeLostRequest(id: string): Promise<void> {
      await app.closeLostRequest(id)
      await pipeline.transaction((tx) =>
        audit(tx, 'close-request', { action: 'update', resourceType: 'privacy-request', resourceId: id, details: {} }),
      )
    },

    /** Audits that an operator declared the ledger, or the former secret, lost. */
    noteLoss: (what: 'ledger' | 'secret') =>
      pipeline.transaction((tx) =>
        audit(tx, `accept-lost-${what}`, {
          action: 'update',
          resourceType: what === 'ledger' ? 'erasure-ledger' : 'installation-secret',
          resourceId: 'installation',
          details: {},
        }),
      ),
  }
}
