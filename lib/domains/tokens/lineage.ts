import type { MutationContext, PipelinePorts, Transaction } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'

/** The token that creates another one. The new token ends with it at the latest. */
export interface Issuer {
  id: string
  expiresAt: Date | null
}

interface IssuerRow {
  id: string
  expires_at: Date | null
  revoked_at: Date | null
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
  const rows =
    replaced === undefined
      ? await tx.$queryRaw<
          IssuerRow[]
        >`SELECT id, expires_at, revoked_at FROM tokens WHERE id = ANY(${ids}::text[]) FOR SHARE`
      : await tx.$queryRaw<IssuerRow[]>`SELECT id, expires_at, revoked_at FROM tokens WHERE id = ANY(${ids}::text[])
          ORDER BY id COLLATE "C" FOR NO KEY UPDATE`
  if (tokenId === undefined) return null
  const row = rows.find(({ id }) => id === tokenId)
  if (!row) throw new Problem('token_invalid', 'No such token. Nothing was created.')
  if (row.revoked_at) throw new Problem('token_revoked', 'It was revoked during this request. Nothing was created.')
  if (row.expires_at && row.expires_at <= now)
    throw new Problem('token_expired', 'It expired during this request. Nothing was created.')
  return { id: row.id, expiresAt: row.expires_at }
}

/** Whether the token was created with the other one, directly or through others. */
export async function descendsFrom(tx: Transaction, tokenId: string, ancestorId: string): Promise<boolean> {
  const found = await tx.$queryRaw<unknown[]>`
    WITH RECURSIVE above(id) AS (
      SELECT issued_by_token_id FROM tokens WHERE id = ${tokenId}
      UNION SELECT t.issued_by_token_id FROM tokens t JOIN above a ON t.id = a.id)
    SELECT 1 FROM above WHERE id = ${ancestorId}`
  return found.length > 0
}

/** Hands the tokens that were created with a token over to its successor: revoking the successor revokes them as well. */
export const passOn = (tx: Transaction, from: string, to: string): Promise<unknown> =>
  tx.token.updateMany({ where: { issuedByTokenId: from }, data: { issuedByTokenId: to } })

interface FamilyRow {
  id: string
  agent_id: string
  prefix: string
  root: string
  works: boolean
}
export interface FamilyMember {
  id: string
  agentId: string
  prefix: string
  /** The given token from which it descends; its own id if it is one of them. */
  root: string
  /** Neither revoked nor expired. */
  works: boolean
}

/**
 * Locks these tokens and all that descend from them until the transaction ends, and returns them. Creating and rotating tokens lock the
 * token that they use. So once all are locked, none can be added; until then, another round finds tokens created meanwhile.
 */
export async function lockFamilies(tx: Transaction, roots: readonly string[], now: Date): Promise<FamilyMember[]> {
  if (roots.length === 0) return []
  for (let locked = new Set<string>(); ; ) {
    const rows = await tx.$queryRaw<FamilyRow[]>`
      WITH RECURSIVE family(id, root) AS (
        SELECT r, r FROM unnest(${[...roots]}::text[]) AS r
        UNION SELECT t.id, f.root FROM tokens t JOIN family f ON t.issued_by_token_id = f.id)
      SELECT t.id, t.agent_id, t.prefix, f.root,
        t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > ${now}) AS works
      FROM tokens t JOIN (SELECT id, CASE WHEN bool_or(id = root) THEN id ELSE min(root) END AS root FROM family GROUP BY id) f
        ON f.id = t.id
      ORDER BY t.id COLLATE "C" FOR NO KEY UPDATE OF t`
    if (rows.every(({ id }) => locked.has(id)))
      return rows.map(({ agent_id: agentId, id, prefix, root, works }) => ({ id, agentId, prefix, root, works }))
    locked = new Set(rows.map(({ id }) => id))
  }
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
  { now, actorId, ip }: { now: Date; actorId: string; ip: string },
): Promise<FamilyMember[]> {
  const revoked = family.filter(({ id, root, works }) => id !== root && works)
  if (revoked.length === 0) return []
  await tx.$executeRaw`UPDATE tokens SET revoked_at = ${now}, revoked_reason = 'issuer_revoked'
    WHERE id = ANY(${revoked.map(({ id }) => id)}::text[])`
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
