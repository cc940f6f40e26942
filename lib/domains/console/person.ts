import { accountDirectory } from '#lib/domains/accounts/queries.ts'
import { agentNames, ownedAgents } from '#lib/domains/agents/queries.ts'
import { changesAbout, readersAbout } from '#lib/domains/audit/queries.ts'
import { newestReceipts } from '#lib/domains/erasure/queries.ts'
import { holdsInForce } from '#lib/domains/holds/queries.ts'
import { newestRecordsOf } from '#lib/domains/knowledge/queries.ts'
import { requestsOf } from '#lib/domains/privacy-requests/queries.ts'
import { participationsOf } from '#lib/domains/projects/queries.ts'
import type { DataSource } from '#lib/kernel/data-source.ts'
import type { Subject } from '#lib/kernel/erasure-scope.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { listReaders, readPerson } from './contract.ts'
import { consideredRecords, readerKindOf, shownAgents, shownChanges, shownReceipts } from './rules.ts'

interface PersonSubject extends Subject {
  account: string
}
const shownReaders = 50
/** Requests and agents whose entries are considered. */
const considered = 200

/** The records that the audit log names when somebody opens or changes something about the person. */
async function resourcesOf(db: Database, { account, agents }: PersonSubject) {
  const requests = await requestsOf(db, { account, agents }, considered)
  const records = await newestRecordsOf(db, agents, consideredRecords + 1)
  return {
    people: [account, ...agents.slice(0, considered), ...requests],
    records: records.slice(0, consideredRecords),
    isComplete: records.length <= consideredRecords,
  }
}
type Resources = Awaited<ReturnType<typeof resourcesOf>>

async function readersOf(db: Database, { account, agents }: PersonSubject, found: Resources, now: Date) {
  const about = { resources: [...found.people, ...found.records], own: [`user:${account}`, ...agents] }
  const readers = await readersAbout(db, about, now, shownReaders)
  const person = 'user:'
  const roles = await accountDirectory.rolesOf(
    db.prisma,
    readers.flatMap(({ actorId }) => (actorId.startsWith(person) ? [actorId.slice(person.length)] : [])),
  )
  return readers.map((reader) => ({
    actor_id: reader.actorId,
    actor_name: reader.actorName,
    who: readerKindOf(reader.actorId, roles.get(reader.actorId.slice(person.length))),
    action: reader.action === 'export' ? ('export' as const) : ('read' as const),
    resource_type: reader.resourceType,
    count: reader.count,
    last_at: reader.lastAt,
  }))
}

/** The data sources with records about the subject. Queries them one after the other, to use a single connection. */
export async function holdingsOf(dataSources: readonly DataSource[], subject: Subject, now: Date) {
  const held: { holder: string; store: string; count: number; since: Date | null }[] = []
  for (const dataSource of dataSources) {
    const { count, since } = await dataSource.inventory(subject, now)
    if (count > 0) held.push({ holder: dataSource.name, store: dataSource.store, count, since })
  }
  return held
}

/** The page of a person, for admins: counts and acts, without content. */
const person = (db: Database, dataSources: readonly DataSource[]) =>
  read(readPerson, async ({ now }, { params: { id } }) => {
    if (!(await accountDirectory.byId(db.prisma, id))) throw new Problem('not_found', 'There is no such account.')
    const agents = await ownedAgents(db, id)
    const participants = await participationsOf(db.prisma, id)
    const subject = { account: id, agents, participants }
    const found = await resourcesOf(db, subject)
    const names = await agentNames(db.prisma, agents.slice(0, shownAgents))
    const [held, holds, receipts, readers, changes] = await Promise.all([
      holdingsOf(dataSources, subject, now),
      holdsInForce.inForce(db.prisma, subject, now),
      newestReceipts(db, { accountId: id, agents }, shownReceipts),
      readersOf(db, subject, found, now),
      changesAbout(db, found.people, now, shownChanges),
    ])
    return {
      resourceId: id,
      body: {
        data: {
          as_of: now,
          held: held.map(({ holder, store, count }) => ({ holder, store, count })),
          agents: agents.slice(0, shownAgents).map((agent) => ({ id: agent, name: names.get(agent) ?? null })),
          agents_total: agents.length,
          holds: [...new Set([...(holds.account === null ? [] : [holds.account]), ...holds.agents.values()])],
          receipts,
          readers,
          changes,
        },
      },
    }
  })

/** Who read the data of the reader. Shows roles and not names: these are other people, who did their work. */
const readers = (db: Database) =>
  read(listReaders, async ({ actor, now }) => {
    const { accountId, agents } = actor
    if (accountId === undefined) throw new Problem('sign_in_needed')
    const subject = { account: accountId, agents }
    const found = await resourcesOf(db, subject)
    const known = await readersOf(db, subject, found, now)
    return {
      resourceId: 'readers',
      details: { count: known.length },
      body: {
        data: known.map(({ who, action, resource_type, count, last_at }) => ({
          who,
          action,
          resource_type,
          count,
          last_at,
        })),
        records: found.records.length,
        is_complete: found.isComplete,
      },
    }
  })

/** What is known about one person: for admins, and for the person. */
export const personService = ({ db, dataSources }: { db: Database; dataSources: readonly DataSource[] }) => ({
  person: person(db, dataSources),
  readers: readers(db),
})
