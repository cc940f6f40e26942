import { accountDirectory } from '#lib/domains/accounts/queries.ts'
import { requestSubjectNames } from '#lib/domains/privacy-requests/queries.ts'
import { tokenNames } from '#lib/domains/tokens/queries.ts'
import type { DatabaseQuery } from '#lib/kernel/evidence.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { actsOf, actView, joinRepeated, namedIds } from './acts.ts'
import type { AuditAct } from './contract.ts'
import { agentsMatching, changesOf, countUses, type EntryRow, namesOfIds, newestActs, readersOf } from './repository.ts'
import { isRevocation, oldestRead } from './rules.ts'

const max = 20
const person = 'user:'
/** Actors of people have a prefix; resources do not. */
const bare = (actor: string): string => (actor.startsWith(person) ? actor.slice(person.length) : actor)

/** Resolves current names for entries when they are read. The log stores only ids. */
export function auditNames(db: Database) {
  return {
    /** Returns names by the id in the entry, and by `further` ids of people and agents. Deleted people and agents have none. */
    async of(
      rows: readonly Pick<EntryRow, 'agent_id' | 'resource_type' | 'resource_id'>[],
      further: readonly string[] = [],
    ): Promise<Map<string, string>> {
      const given = [...new Set([...rows.flatMap(({ agent_id, resource_id }) => [agent_id, resource_id]), ...further])]
      const idsOf = (type: string) => [
        ...new Set(rows.filter((row) => row.resource_type === type).map((row) => row.resource_id)),
      ]
      const [known, subjects, tokens] = await Promise.all([
        namesOfIds(db, { ids: [...new Set(given.map(bare))] }),
        requestSubjectNames(db, idsOf('request')),
        tokenNames(db.prisma, idsOf('token')),
      ])
      const byId = new Map(known.map(({ id, name }) => [id, name]))
      return new Map(
        given.flatMap((id) => {
          const name = byId.get(bare(id)) ?? subjects.get(id) ?? tokens.get(id)
          return name === undefined ? [] : [[id, name]]
        }),
      )
    },

    /** Finds people and agents by name, email address or id. */
    async find(text: string) {
      const pattern = `%${text.replace(/[\\%_]/g, '\\$&')}%`
      const [people, agents] = await Promise.all([
        accountDirectory.matching(db.prisma, bare(text), max),
        agentsMatching(db, { pattern, max }),
      ])
      return [
        ...people.map(({ accountId, name, email }) => ({
          id: `${person}${accountId}`,
          kind: 'person' as const,
          name,
          email,
        })),
        ...agents.map(({ id, name }) => ({ id, kind: 'agent' as const, name, email: null })),
      ].slice(0, max)
    },
  }
}

const dayMs = 86_400_000
const looked = 5_000
/** Entries per act that is shown: acts with more entries leave room for fewer acts. */
const entriesPerAct = 40

interface AuditedAct {
  id: string
  at: Date
  /** An action of the log, or `revoke` for the revocation of a token. */
  action: string
  actorId: string
  actorName: string | null
  resourceType: string
  resourceId: string
  /** The current name of an account, agent or subject of a request, or the name and prefix of a token. */
  resourceName: string | null
  act: AuditAct
}
/**
 * The newest changes and exports by people within a week, without those of sessions, newest first. The same act of a person, repeated
 * without another one between, is one act. On a busy installation only those among the newest entries.
 */
export async function newestActsOfPeople(db: Database, now: Date, max: number): Promise<AuditedAct[]> {
  const from = new Date(now.getTime() - 7 * dayMs)
  const rows = await newestActs(db, { from, looked, limit: max * entriesPerAct })
  const acts = joinRepeated(actsOf(rows.map((entry) => ({ entry, count: 1 })))).slice(0, max)
  const shown = acts.flatMap(({ parts }) => parts.map(({ entry }) => entry))
  const names = await auditNames(db).of(
    shown,
    shown.flatMap((entry) => namedIds(entry)),
  )
  return acts.flatMap((act) => {
    const entry = act.parts[0]?.entry
    if (!entry) return []
    return [
      {
        id: entry.id,
        at: entry.at,
        action: isRevocation(entry.resource_type, entry.details) ? 'revoke' : entry.action,
        actorId: entry.agent_id,
        actorName: names.get(entry.agent_id) ?? null,
        resourceType: entry.resource_type,
        resourceId: entry.resource_id,
        resourceName: names.get(entry.resource_id) ?? null,
        act: actView(act, names),
      },
    ]
  })
}

/** The newest changes of these resources that the log retains, by act. */
export async function changesAbout(
  db: Database,
  resources: readonly string[],
  now: Date,
  max: number,
): Promise<AuditAct[]> {
  const rows = await changesOf(db, { resources, from: oldestRead(now), limit: max * entriesPerAct })
  const acts = joinRepeated(actsOf(rows.map((entry) => ({ entry, count: 1 })))).slice(0, max)
  const shown = acts.flatMap(({ parts }) => parts.map(({ entry }) => entry))
  const names = await auditNames(db).of(
    shown,
    shown.flatMap((entry) => namedIds(entry)),
  )
  return acts.map((act) => actView(act, names))
}

/** How often one actor read or exported resources of one type. */
interface AuditedReader {
  actorId: string
  /** Null for a deleted account, and for an actor without a name. */
  actorName: string | null
  action: string
  resourceType: string
  count: number
  lastAt: Date
}
/** Who read or exported these resources, except the actors in `own`, as long as the log retains it; latest first. */
export async function readersAbout(
  db: Database,
  { resources, own }: { resources: readonly string[]; own: readonly string[] },
  now: Date,
  max: number,
): Promise<AuditedReader[]> {
  const rows = await readersOf(db, { resources, own, from: oldestRead(now), max })
  const known = await namesOfIds(db, { ids: [...new Set(rows.map(({ actor }) => bare(actor)))] })
  const names = new Map(known.map(({ id, name }) => [id, name]))
  return rows.map(({ actor, action, type, count, last }) => ({
    actorId: actor,
    actorName: names.get(bare(actor)) ?? null,
    action,
    resourceType: type,
    count,
    lastAt: last,
  }))
}

/** Maximum number of entries of the last day that are searched, newest first. */
const lookedThrough = 50_000

/** The minimum number of times that these operations succeeded within the last day, and the last time. Only success writes an entry. */
export async function usesOf(
  query: DatabaseQuery,
  operations: readonly string[],
  now: Date,
): Promise<{ uses: number; last: Date | null }> {
  const from = new Date(now.getTime() - 24 * 3_600_000)
  const [row] = await countUses(query, { operations, from, max: lookedThrough })
  return { uses: row?.uses ?? 0, last: row?.last ?? null }
}
