import { enqueueNotice } from '#lib/domains/accounts/writes.ts'
import { agentOf } from '#lib/domains/agents/queries.ts'
import type { MutationContext, PipelinePorts, Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import type { TokenPorts } from './ports.ts'
import { adminTokensMadeBy, ancestorOfToken, lockDescendants, lockTokensById, revokeWithIssuer } from './repository.ts'
import { countsSince, refusalsToRevoke } from './rules.ts'

/** The token that creates another one. The new token ends with it at the latest. */
export interface Issuer {
  id: string
  expiresAt: Date | null
  ownerConfirms: boolean
}

/**
 * Locks the actor's token, so that it cannot be revoked until the transaction ends, and returns it. Returns null for people.
 * `replaced`: a token that the transaction then rotates; both are locked in the order of their ids, like everywhere.
 * @throws {Problem} `token_revoked`, `token_expired` or `token_invalid` if the token ended after the request was authenticated
 */
export async function lockIssuer(
  { tx, actor, now }: Pick<MutationContext, 'tx' | 'actor' | 'now'>,
  replaced?: string,
): Promise<Issuer | null> {
  const { tokenId } = actor
  const ids = [tokenId, replaced].filter((id) => id !== undefined)
  if (ids.length === 0) return null
  const rows = await lockTokensById(tx, { ids }, replaced === undefined ? 'share' : 'update')
  if (tokenId === undefined) return null
  const row = rows.find(({ id }) => id === tokenId)
  if (!row) throw new Problem('token_invalid', 'This token no longer exists. No token was created.')
  if (row.revoked_at)
    throw new Problem('token_revoked', 'This token was revoked during the request. No token was created.')
  if (row.expires_at && row.expires_at <= now)
    throw new Problem('token_expired', 'This token expired during the request. No token was created.')
  return { id: row.id, expiresAt: row.expires_at, ownerConfirms: row.owner_confirms }
}

/** Whether the token was created with the other one, directly or through others. */
export const descendsFrom = async (tx: Transaction, token: string, ancestor: string): Promise<boolean> =>
  (await ancestorOfToken(tx, { token, ancestor })).length > 0

/** Hands the tokens that were created with a token over to its successor: revoking the successor revokes them as well. */
export const passOn = (tx: Transaction, from: string, to: string): Promise<unknown> =>
  tx.token.updateMany({ where: { issuedByTokenId: from }, data: { issuedByTokenId: to } })

interface FamilyMember {
  id: string
  agentId: string
  prefix: string
  /** The given token from which it descends; its own id if it is one of them. */
  root: string
  /** Neither revoked nor expired. */
  isActive: boolean
}

/**
 * Locks these tokens and all that descend from them until the transaction ends, and returns them. Creating and rotating tokens lock the
 * token that they use. So once all are locked, none can be added; until then, another round finds tokens created meanwhile.
 */
export async function lockFamilies(tx: Transaction, roots: readonly string[], now: Date): Promise<FamilyMember[]> {
  if (roots.length === 0) return []
  for (let locked = new Set<string>(); ; ) {
    const rows = await lockDescendants(tx, { roots, now })
    if (rows.every(({ id }) => locked.has(id)))
      return rows.map(({ agent_id: agentId, active: isActive, ...row }) => ({ ...row, agentId, isActive }))
    locked = new Set(rows.map(({ id }) => id))
  }
}

/** Who revokes tokens, and when. */
interface Revocation {
  now: Date
  actorId: string
  ip: string
}
/** A revocation because the person who owns or created the tokens lost a role or the account. */
interface OwnerRevocation extends Revocation {
  reason: 'owner_role' | 'owner_closed'
}

/** Audit entries are inserted in groups of this size. */
const groupSize = 500

/**
 * Revokes the active tokens among the locked ones that descend from others, each with an audit entry, and returns them. The holder of a
 * copied key can have created others with it, so they end with it.
 */
export async function revokeDescendants(
  tx: Transaction,
  auditWithin: PipelinePorts['auditWithin'],
  family: readonly FamilyMember[],
  { now, actorId, ip }: Revocation,
): Promise<FamilyMember[]> {
  const revoked = family.filter(({ id, root, isActive }) => id !== root && isActive)
  if (revoked.length === 0) return []
  await revokeWithIssuer(tx, { ids: revoked.map(({ id }) => id), now })
  for (let from = 0; from < revoked.length; from += groupSize)
    await auditWithin(
      tx,
      ...revoked.slice(from, from + groupSize).map(({ id, agentId, root }) => ({
        action: 'update' as const,
        actorId,
        resourceType: 'token',
        resourceId: id,
        at: now,
        ip,
        details: { agent_id: agentId, reason: 'issuer_revoked', revoked_with: root, fields: ['revoked_at'] },
      })),
    )
  return revoked
}

/** Revokes the active tokens among these, with an audit entry each, and those created with them. Returns how many. */
async function revokeAll(
  tx: Transaction,
  auditWithin: PipelinePorts['auditWithin'],
  ids: readonly string[],
  { reason, now, actorId, ip }: OwnerRevocation,
): Promise<number> {
  const family = await lockFamilies(tx, ids, now)
  const revoked = await tx.token.updateManyAndReturn({
    where: { id: { in: [...ids] }, revokedAt: null },
    data: { revokedAt: now, revokedReason: reason },
    select: { id: true, agentId: true },
  })
  await auditWithin(
    tx,
    ...revoked.map(({ id, agentId }) => ({
      action: 'update' as const,
      actorId,
      resourceType: 'token',
      resourceId: id,
      at: now,
      ip,
      details: { agent_id: agentId, reason, fields: ['revoked_at'] },
    })),
  )
  return revoked.length + (await revokeDescendants(tx, auditWithin, family, { now, actorId, ip })).length
}

/**
 * Revokes the active tokens with scope `admin` of these agents, and those that the person created for other agents, with all that were created with
 * them. Returns how many. Locks each agent first, so that a concurrent rotation cannot create a token that escapes.
 */
export async function revokeAdminTokens(
  tx: Transaction,
  auditWithin: PipelinePorts['auditWithin'],
  { accountId, agents }: { accountId: string; agents: readonly string[] },
  revocation: OwnerRevocation,
): Promise<number> {
  const { now } = revocation
  const made = () => adminTokensMadeBy(tx, { actor: `user:${accountId}`, now })
  const others = (await made()).map(({ agent_id }) => agent_id)
  for (const id of [...new Set([...agents, ...others])].sort()) await agentOf(tx, id, { lock: true })
  const own = await tx.token.findMany({
    where: {
      agentId: { in: [...agents] },
      scopes: { has: 'admin' },
      revokedAt: null,
      OR: [{ expiresAt: null }, { expiresAt: { gt: now } }],
    },
    select: { id: true },
  })
  const ids = [...new Set([...own, ...(await made())].map(({ id }) => id))]
  return revokeAll(tx, auditWithin, ids, revocation)
}

interface TokenRefusal {
  tokenId: string
  requestClass: 'read' | 'write'
  limit: number
  consumed: number
  ip: string
  /** When the exceeded window ends. It identifies the window: all its requests have the same end, on every replica. */
  windowEnds: Date
}

/** The number of windows that a process remembers as counted. */
const maxRemembered = 10_000

/**
 * Stores a 429 response as evidence, once per rate-limit window: a burst of parallel requests is one refusal. The third one within an hour for
 * tokens with the same limit key revokes all active tokens with that key, and those created with them, in the same transaction. Returns
 * true if tokens were revoked. Returns false if the database is unavailable: the 429 is still sent.
 */
export function refusalRecorder(db: Database, pipeline: TokenPorts['pipeline']) {
  const keep = ({ tokenId, requestClass, limit, consumed, ip, windowEnds }: TokenRefusal): Promise<boolean> =>
    db.transaction(async (tx) => {
      const token = await tx.token.findUnique({ where: { id: tokenId }, select: { agentId: true, limitKey: true } })
      // Locking the agent serializes refusals: each is counted and none is stored after the revocation. It also blocks rotations, whose new
      // token would otherwise escape the revocation.
      const agent = token && (await agentOf(tx, token.agentId, { lock: true }))
      if (!agent) return false
      const { limitKey } = token
      const now = pipeline.clock.now()
      const sharing = await tx.token.findMany({
        where: { limitKey, revokedAt: null, OR: [{ expiresAt: null }, { expiresAt: { gt: now } }] },
        select: { id: true },
      })
      const family = await lockFamilies(
        tx,
        sharing.map(({ id }) => id),
        now,
      )
      const active = family.filter(({ id, root, isActive }) => id === root && isActive)
      if (active.length === 0) return false
      if ((await tx.rateLimitRefusal.count({ where: { limitKey, requestClass, windowEnds } })) > 0) return false
      await tx.rateLimitRefusal.create({
        data: { id: newId('rlr'), tokenId, limitKey, at: now, requestClass, limit, consumed, ip, windowEnds },
      })
      const refusals = await tx.rateLimitRefusal.count({ where: { limitKey, at: { gt: countsSince(now) } } })
      if (refusals < refusalsToRevoke) return false
      await tx.token.updateMany({
        where: { id: { in: active.map(({ id }) => id) } },
        data: { revokedAt: now, revokedReason: 'rate_limit' },
      })
      const actorId = 'system:rate-limit'
      const descendants = await revokeDescendants(tx, pipeline.auditWithin, family, { now, actorId, ip })
      const evidence = { agent_id: agent.id, received_by: tokenId, refusals, limit, consumed, class: requestClass }
      for (const { id, prefix } of active) {
        await pipeline.auditWithin(tx, {
          action: 'update',
          actorId,
          resourceType: 'token',
          resourceId: id,
          at: now,
          ip,
          details: { ...evidence, fields: ['revoked_at'] },
        })
        const ended = descendants.filter(({ root }) => root === id).length
        if (agent.ownerId)
          await enqueueNotice(tx, {
            kind: 'token-revoked',
            accountId: agent.ownerId,
            keyPrefix: prefix,
            at: now,
            ...(ended > 0 && { descendants: ended }),
          })
      }
      return true
    })

  /** The last counted window by token and class, oldest first. Further 429s of the window need no transaction. */
  const counted = new Map<string, number>()
  return async (refusal: TokenRefusal): Promise<boolean> => {
    const key = `${refusal.tokenId}:${refusal.requestClass}`
    const windowEnds = refusal.windowEnds.getTime()
    if (counted.get(key) === windowEnds) return false
    try {
      const isRevoked = await keep(refusal)
      counted.delete(key)
      counted.set(key, windowEnds)
      for (const oldest of counted.keys()) if (counted.size > maxRemembered) counted.delete(oldest)
      return isRevoked
    } catch (error) {
      if (Problem.is(error, 'unavailable')) return false
      throw error
    }
  }
}
