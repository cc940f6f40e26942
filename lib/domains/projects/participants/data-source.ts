import type { Transaction } from '#lib/kernel/context.ts'
import type { DataSource } from '#lib/kernel/data-source.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import {
  chunked,
  holdingOf,
  type PlannedRow,
  plannedOf,
  preferIndexes,
  sumRemaining,
} from '#lib/stores/postgres/personal-rows.ts'
import { wholeProjects } from '../containers/repository.ts'
import { scopePart, scopeSubject, untilErased } from '../legal-holds.ts'
import {
  countErasableParticipants,
  countParticipants,
  deleteParticipants,
  participantInventory,
  plannedParticipants,
} from './repository.ts'

async function planned(scope: ErasureScope, tx: Transaction, now: Date): Promise<PlannedRow[]> {
  const subject = scopeSubject(scope)
  const part = scopePart(scope)
  if (part?.kind === 'project') return plannedParticipants(tx, { values: [part.id], now }, 'projects')
  if (!subject) return []
  const own = await plannedParticipants(tx, { values: subject.participants ?? [], now }, 'ids')
  // If a project is erased with its only member, all its participants are erased too.
  const projects = (await wholeProjects(scope, tx, now)).map(({ id }) => id)
  const others = projects.length === 0 ? [] : await plannedParticipants(tx, { values: projects, now }, 'projects')
  return [...new Map([...own, ...others].map((row) => [row.id, row])).values()]
}

/** Personal data source for participants: the ids, names and email addresses that applications reported. */
export const participantDataSource = (db: Database): DataSource => ({
  name: 'projects.participants',
  store: 'postgresql',
  stage: 'content',
  what: 'participations in projects: the application’s id of the person, with the name and email address that it reported',
  held: 'participations in projects that the subject claimed: the application’s id, name and email address of the person',
  purpose: 'recording on whose behalf an application wrote, so that the person can have it exported and erased',
  kept: untilErased,
  tables: ['project_participants'],
  inventory: async ({ participants: ids = [] }) => holdingOf(await participantInventory(db, { ids })),
  async plan(scope, tx, now) {
    await preferIndexes(tx)
    return plannedOf(await planned(scope, tx, now))
  },
  async erase(_scope, ids, tx) {
    await preferIndexes(tx)
    return deleteParticipants(tx, { ids })
  },
  residue(scope, items, now) {
    const subject = scopeSubject(scope)
    const part = scopePart(scope)
    return sumRemaining(db, async function* (on) {
      if (subject?.participants) yield countErasableParticipants(on, { values: subject.participants, now }, 'ids')
      // Search by account too, so that the check does not depend on the planned ids.
      if (subject && subject.account !== null)
        yield countErasableParticipants(on, { values: [subject.account], now }, 'accounts')
      if (part?.kind === 'project') yield countErasableParticipants(on, { values: [part.id], now }, 'projects')
      for (const ids of chunked(items)) yield countParticipants(on, { ids })
    })
  },
})
