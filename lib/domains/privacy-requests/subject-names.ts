import type { PrivacyDeps } from './ports.ts'
import { SubjectName } from './requests.ts'

export interface NamedSubject {
  kind: ReturnType<(typeof SubjectName)['parse']>
  /** Null once the subject is deleted, and for subjects without a name. */
  name: string | null
}

/** Returns the subjects of requests with their current names, by request id. */
export async function subjectsOf(
  { db, people, agents }: Pick<PrivacyDeps, 'db' | 'people' | 'agents'>,
  requestIds: readonly string[],
): Promise<Map<string, NamedSubject>> {
  if (requestIds.length === 0) return new Map()
  const rows = await db.prisma.privacyRequest.findMany({
    where: { id: { in: [...requestIds] } },
    select: { id: true, subjectKind: true, accountId: true, agentId: true },
  })
  const idsOf = (ids: (string | null)[]) => [...new Set(ids.filter((id) => id !== null))]
  const [accounts, named] = await Promise.all([
    people.namesOf(db.prisma, idsOf(rows.map(({ accountId }) => accountId))),
    agents.namesOf(db.prisma, idsOf(rows.map(({ agentId }) => agentId))),
  ])
  return new Map(
    rows.map(({ id, subjectKind, accountId, agentId }) => [
      id,
      {
        kind: SubjectName.parse(subjectKind),
        name: accounts.get(accountId ?? '') ?? named.get(agentId ?? '') ?? null,
      },
    ]),
  )
}
