import type { App } from './app.ts'
import type { Scope } from './domains/tokens/rules.ts'
import type { Transaction } from './kernel/context.ts'
import { newId } from './kernel/ids.ts'
import { Problem } from './kernel/problem.ts'
import type { LedgerRow } from './stores/ledger/ledger.ts'

export interface OperatorToken {
  agentId: string
  tokenId: string
  key: string
  prefix: string
  scopes: Scope[]
}
export interface Replay {
  /** Erasures that the ledger says were carried out. */
  committed: number
  /** Those whose data was there again and was erased once more. */
  erased: number
  /** Receipts that the restored database did not know, and their erased ids. */
  reinstated: number
  /** Lines of the ledger that do not check: cut short by a crash, or changed. */
  damaged: number
  /** Receipts of the repeated erasures. */
  receipts: string[]
}

/** What a restored backup brought back. */
interface StoredAgain {
  agent_id: string
  was_public: boolean
}

const operatorId = 'operator'

/** The admin who was first, with the organisation that tools of the operator belong to. */
async function firstAdmin(tx: Transaction): Promise<{ id: string; organisationId: string }> {
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
  const { gate, agents, tokens, signer, erasures, ledger } = app
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
        const made = await tokens.issue(tx, { agentId, scopes, name, expiresAt: null, now: gate.clock.now() })
        await audit(tx, 'token', {
          action: 'create',
          resourceType: 'token',
          resourceId: made.id,
          details: { agent_id: agentId, scopes: made.scopes },
        })
        return { agentId, tokenId: made.id, key: made.key, prefix: made.prefix, scopes: made.scopes }
      }),

    /** Receipts are signed with a new key from now on, by running processes within a minute; the old key stays published. */
    async rotateSigningKey(): Promise<string> {
      const kid = await signer.rotate(gate.clock.now())
      await gate.transaction((tx) =>
        audit(tx, 'rotate-signing-key', {
          action: 'update',
          resourceType: 'signing-key',
          resourceId: kid,
          details: {},
        }),
      )
      return kid
    },

    /**
     * Erases again what the ledger says was erased and a restored backup brought back. Intents that never committed are left alone,
     * and so is what was stored after its erasure.
     */
    async replayErasures(): Promise<Replay> {
      type Intent = Extract<LedgerRow, { kind: 'intent' }>
      const intents = new Map<string, Intent>()
      const committed: Intent[] = []
      let damaged = 0
      for await (const row of ledger.read(() => damaged++)) {
        const intent = row.kind === 'intent' ? intents.set(row.id, row) && undefined : intents.get(row.id)
        if (intent) committed.push(intent)
        if (row.kind === 'commit') intents.delete(row.id)
      }
      const receipts: string[] = []
      let reinstated = 0
      for (const intent of committed) {
        const { scope } = intent
        if ('subject' in scope) continue
        const unit = 'unit' in scope ? scope.unit : undefined
        const id = 'unit' in scope ? scope.unit : scope.skill
        const at = new Date(intent.at)
        const again = await gate.transaction(async (tx) => {
          const [row] =
            unit !== undefined
              ? await tx.$queryRaw<StoredAgain[]>`
                  SELECT agent_id, was_public OR visibility = 'network' AS was_public FROM units WHERE id = ${id} AND created_at <= ${at} FOR UPDATE`
              : await tx.$queryRaw<StoredAgain[]>`
                  SELECT agent_id, was_public OR visibility = 'network' AS was_public FROM skills WHERE id = ${id} AND created_at <= ${at} FOR UPDATE`
          if (!row) return undefined
          const made = await erasures.begin(tx, {
            scope: unit !== undefined ? { unit: id } : { skill: id },
            deletedId: id,
            formerOwner: row.agent_id,
            requestedBy: 'system:admin.replay',
            reason: 'replay',
            wasPublic: row.was_public || (intent.wasPublic ?? true),
            now: gate.clock.now(),
          })
          await audit(tx, 'replay', {
            action: 'delete',
            resourceType: unit !== undefined ? 'knowledge' : 'skill',
            resourceId: id,
            details: { receipt: made },
          })
          return made
        })
        if (again !== undefined) {
          await erasures.finish(again)
          receipts.push(again)
        }
        // The backup knew nothing of the erasure: its receipt must be found, and its id must not be free again.
        const isNew = await gate.transaction((tx) =>
          erasures.reinstate(tx, {
            receiptId: intent.id,
            deletedId: id,
            deletedAt: at,
            plan: intent.plan,
            wasPublic: intent.wasPublic,
          }),
        )
        if (isNew) {
          await erasures.finish(intent.id)
          reinstated++
        }
      }
      return { committed: committed.length, erased: receipts.length, reinstated, damaged, receipts }
    },
  }
}
