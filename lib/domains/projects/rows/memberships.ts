import type { DataSource } from '#lib/kernel/data-source.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { holdingOf, plannedOf, preferIndexes, sumRemaining } from '#lib/stores/postgres/personal-rows.ts'
import { scopePart, scopeSubject, writersOf } from '../legal-holds.ts'
import {
  appointOwners,
  countErasableMembers,
  countMembers,
  deleteMembers,
  type MemberScope,
  memberInventory,
  plannedMembers,
} from './repository.ts'
import { untilErased } from './retained-until.ts'

/** The memberships that a scope covers: those of a subject, or of a whole project. */
function coveredMembers(scope: ErasureScope) {
  const subject = scopeSubject(scope)
  const part = scopePart(scope)
  if (!subject && part?.kind !== 'project') return undefined
  const which: MemberScope = subject ? 'subject' : 'project'
  const authors = subject ? writersOf(subject) : { kinds: [], ids: [] }
  return { which, values: { ...authors, project: part?.project ?? null } }
}

/** Personal data source for project members. If the last owner is erased, the member who joined first becomes owner. */
export const memberDataSource = (db: Database): DataSource => ({
  name: 'projects.members',
  store: 'postgresql',
  stage: 'content',
  what: 'memberships in projects, with their roles',
  purpose: 'limiting access to a project to its members',
  kept: untilErased,
  tables: ['project_members'],
  inventory: async (subject) => holdingOf(await memberInventory(db, writersOf(subject))),
  async plan(scope, tx, now) {
    const covered = coveredMembers(scope)
    if (!covered) return { items: [], held: {} }
    await preferIndexes(tx)
    return plannedOf(await plannedMembers(tx, { ...covered.values, now }, covered.which))
  },
  async erase(_scope, items, tx) {
    await preferIndexes(tx)
    const deleted = await deleteMembers(tx, { items })
    await appointOwners(tx, { projects: [...new Set(deleted.map(({ project_id }) => project_id))] })
    return deleted.length
  },
  residue(scope, items, now) {
    const covered = coveredMembers(scope)
    return sumRemaining(db, async function* (on) {
      if (covered) yield countErasableMembers(on, { ...covered.values, now }, covered.which)
      if (items.length > 0) yield countMembers(on, { items })
    })
  },
})
