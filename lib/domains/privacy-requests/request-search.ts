import type { Actor } from '#lib/kernel/context.ts'
import type { PrivacyDeps } from './ports.ts'
import { ownedBy } from './requests.ts'

export interface FoundRequest {
  id: string
  kinds: readonly string[]
  /** The name of the person concerned. Only for admins, and while the request names the person. */
  person: string | null
}
const idPrefix = 'preq_'

/** Finds requests by the beginning of their id, or by the people whom they concern, newest first: for admins all, for others their own. */
export const requestSearch = ({ db, people }: Pick<PrivacyDeps, 'db' | 'people'>) => ({
  async find(
    actor: Actor,
    { q, accounts }: { q: string; accounts: readonly string[] },
    most: number,
  ): Promise<FoundRequest[]> {
    const matching = [
      ...(q.startsWith(idPrefix) ? [{ id: { startsWith: q } }] : []),
      ...(accounts.length > 0 ? [{ accountId: { in: [...accounts] } }] : []),
    ]
    if (matching.length === 0) return []
    const isAdmin = actor.can('privacy:admin')
    const rows = await db.prisma.privacyRequest.findMany({
      where: { AND: [{ OR: matching }, isAdmin ? {} : ownedBy({ actor })] },
      orderBy: { receivedAt: 'desc' },
      take: most,
      select: { id: true, kinds: true, accountId: true },
    })
    const ids = isAdmin ? rows.flatMap(({ accountId }) => accountId ?? []) : []
    const names = ids.length > 0 ? await people.namesOf(db.prisma, ids) : new Map<string, string>()
    return rows.map(({ id, kinds, accountId }) => ({ id, kinds, person: names.get(accountId ?? '') ?? null }))
  },
})
