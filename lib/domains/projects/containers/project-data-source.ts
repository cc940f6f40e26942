import type { DataSource } from '#lib/kernel/data-source.ts'
import { erasedRows } from '#lib/kernel/erased.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { holdingOf, plannedOf, preferIndexes, sumRemaining } from '#lib/stores/postgres/personal-rows.ts'
import { scopePart, scopeSubject } from '../legal-holds.ts'
import type { RowPorts } from '../rows/authored.ts'
import { untilErased } from '../rows/retained-until.ts'
import {
  closeProjects,
  countErasableProjects,
  countRowsOfProject,
  deleteProjects,
  identitiesOfContainers,
  plannedProject,
  plannedProjects,
  projectInventory,
} from './repository.ts'
import { identitiesOf } from './whole-containers.ts'

/**
 * Personal data source for projects. The row of a closed project remains for its certificate, without its name. A project in which only the
 * subject participates is deleted.
 */
export const projectDataSource = (db: Database, { withdrawNaming }: RowPorts): DataSource => ({
  name: 'projects.projects',
  store: 'postgresql',
  stage: 'content',
  what: 'projects without other members, with their names',
  purpose: 'providing projects of which the subject is a member',
  kept: untilErased,
  tables: ['projects'],
  inventory: async (subject) => holdingOf(await projectInventory(db, identitiesOf(subject))),
  async plan(scope, tx, now) {
    const subject = scopeSubject(scope)
    const part = scopePart(scope)
    await preferIndexes(tx)
    if (subject) return plannedOf(await plannedProjects(tx, { ...identitiesOf(subject), now }))
    return plannedOf(part?.kind === 'project' ? await plannedProject(tx, { id: part.id, now }) : [])
  },
  async erase(scope, items, tx, options) {
    await preferIndexes(tx)
    const isSubject = scopeSubject(scope) !== undefined
    const rows = isSubject
      ? await deleteProjects(tx, { items })
      : await closeProjects(tx, { items, now: options?.now ?? null })
    await withdrawNaming(
      tx,
      rows.map(({ id }) => id),
    )
    return erasedRows({ deleted: isSubject ? rows.length : 0, pseudonymized: isSubject ? 0 : rows.length })
  },
  residue(scope, items, now) {
    const subject = scopeSubject(scope)
    const part = scopePart(scope)
    return sumRemaining(db, async function* (on) {
      if (subject) yield countErasableProjects(on, { ...identitiesOf(subject), now })
      else if (part?.kind === 'project' && items.length > 0) yield countRowsOfProject(on, { id: part.id })
    })
  },
  identities: (items, tx) => identitiesOfContainers(tx, { items }, 'project'),
})
