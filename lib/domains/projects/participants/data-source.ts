import { wholeProjects } from '#lib/domains/projects/emptied-containers.ts'
import { projectHoldsSql, scopePart, scopeSubject } from '#lib/domains/projects/legal-holds.ts'
import { untilErased } from '#lib/domains/projects/rows/retained-until.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { DataSource, ErasureScope } from '#lib/kernel/data-source.ts'
import { type Database, queryWithin } from '#lib/stores/postgres/database.ts'
import {
  chunked,
  countRemaining,
  holding,
  type PlannedRow,
  plannedOf,
  preferIndexes,
} from '#lib/stores/postgres/legal-hold-rows.ts'

const planOf = (where: string): string =>
  `WITH ${projectHoldsSql('$2')} SELECT x.id, coalesce(hp.hold, hw.hold) AS hold FROM project_participants x
     LEFT JOIN held_projects hp ON hp.id = x.project_id LEFT JOIN held_writers hw ON hw.kind = 'participant' AND hw.id = x.id WHERE ${where}`
const ofIds = planOf('x.id = ANY($1::text[])')
const ofProjects = planOf('x.project_id = ANY($1::text[])')

async function planned(scope: ErasureScope, tx: Transaction, now: Date): Promise<PlannedRow[]> {
  const subject = scopeSubject(scope)
  const part = scopePart(scope)
  if (part?.kind === 'project')
    return queryWithin<PlannedRow>(tx, 'plan-participants-project', ofProjects, [[part.id], now])
  if (!subject) return []
  const own = await queryWithin<PlannedRow>(tx, 'plan-participants', ofIds, [subject.participants ?? [], now])
  // If a project is erased with its only member, all its participants are erased too.
  const projects = (await wholeProjects(scope, tx, now)).map(({ id }) => id)
  const others =
    projects.length === 0
      ? []
      : await queryWithin<PlannedRow>(tx, 'plan-participants-project', ofProjects, [projects, now])
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
  inventory: ({ participants = [] }) =>
    holding(
      db,
      'participants-held',
      'SELECT count(*)::int AS n, min(created_at) AS since FROM project_participants WHERE id = ANY($1::text[])',
      [participants],
    ),
  async plan(scope, tx, now) {
    await preferIndexes(tx)
    return plannedOf(await planned(scope, tx, now))
  },
  async erase(_scope, items, tx) {
    await preferIndexes(tx)
    const gone = await queryWithin(
      tx,
      'erase-participants',
      'DELETE FROM project_participants WHERE id = ANY($1::text[]) RETURNING id',
      [items],
    )
    return gone.length
  },
  residue(scope, items, now) {
    const subject = scopeSubject(scope)
    const part = scopePart(scope)
    return countRemaining(db, async (ask) => {
      const count = (text: string, values: readonly unknown[]) =>
        ask(`SELECT count(*)::int AS n FROM (${text}) AS f WHERE hold IS NULL`, values)
      if (subject?.participants) await count(ofIds, [subject.participants, now])
      // Search by account too, so that the check does not depend on the planned ids.
      if (subject && subject.account !== null) await count(planOf('x.account_id = $1'), [subject.account, now])
      if (part?.kind === 'project') await count(ofProjects, [[part.id], now])
      for (const chunk of chunked(items))
        await ask('SELECT count(*)::int AS n FROM project_participants WHERE id = ANY($1::text[])', [chunk])
    })
  },
})
