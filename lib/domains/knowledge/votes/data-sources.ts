import { erasedSubjectOf, subjectActorsOf } from '#lib/domains/knowledge/erasure/subject.ts'
import type { DataSource, Subject } from '#lib/kernel/data-source.ts'
import { type Database, queryWithin } from '#lib/stores/postgres/database.ts'
import { countRemaining, holding, preferIndexes } from '#lib/stores/postgres/legal-hold-rows.ts'

interface Kind {
  table: 'unit_votes' | 'unit_reports'
  /** Column of the actor. */
  who: 'voter_id' | 'reporter_id'
  what: string
  held: string
  purpose: string
  kept: string
}

/**
 * Rows that only a person's key identifies, because the agent was deleted; $2 has these keys. Rows of an existing agent outside of the
 * scope, which a legal hold retains, stay.
 */
const orphaned = ({ who }: Kind): string =>
  `owner_key = ANY($2::text[]) AND NOT EXISTS (SELECT FROM agent_owners a WHERE a.id = t.${who})`
const keysOf = ({ account }: Subject): string[] => (account === null ? [] : [`user:${account}`])

/**
 * Votes and reports of agents about others' units. Erasure deletes the rows. The units' sums and quarantine stay: they are others' scores
 * and are not recomputed from the rows.
 */
const saidHolder = (db: Database, kind: Kind): DataSource => {
  const { table, who, what, held, purpose, kept } = kind
  return {
    name: table === 'unit_votes' ? 'knowledge.votes' : 'knowledge.reports',
    store: 'postgresql',
    stage: 'content',
    ...{ what, held, purpose, kept },
    tables: [table],
    inventory: (subject) =>
      holding(
        db,
        `${table}-held`,
        `SELECT count(*)::int AS n, min(t.at) AS since FROM ${table} t WHERE t.${who} = ANY($1::text[])`,
        [subjectActorsOf(subject)],
      ),
    async plan(scope, tx) {
      const subject = erasedSubjectOf(scope)
      if (!subject) return { items: [], held: {} }
      await preferIndexes(tx)
      const rows = await queryWithin<{ id: string }>(
        tx,
        `plan-${table}`,
        `SELECT t.unit_id AS id FROM ${table} t WHERE t.${who} = ANY($1::text[])
         UNION SELECT t.unit_id FROM ${table} t WHERE ${orphaned(kind)}`,
        [subjectActorsOf(subject), keysOf(subject)],
      )
      return { items: rows.map(({ id }) => id).sort(), held: {} }
    },
    async erase(scope, items, tx) {
      const subject = erasedSubjectOf(scope)
      if (!subject) return 0
      await preferIndexes(tx)
      const [gone] = await queryWithin<{ n: number }>(
        tx,
        `erase-own-${table}`,
        `WITH gone AS (DELETE FROM ${table} t WHERE t.unit_id = ANY($3::text[])
           AND (t.${who} = ANY($1::text[]) OR ${orphaned(kind)}) RETURNING 1)
         SELECT count(*)::int AS n FROM gone`,
        [subjectActorsOf(subject), keysOf(subject), items],
      )
      return gone?.n ?? 0
    },
    /** Searches by actor and by owner key, regardless of the unit. */
    residue(scope) {
      const subject = erasedSubjectOf(scope)
      if (!subject) return Promise.resolve(0)
      const doers = subjectActorsOf(subject)
      return countRemaining(db, async (ask) => {
        await ask(`SELECT count(*)::int AS n FROM ${table} t WHERE t.${who} = ANY($1::text[])`, [doers])
        await ask(
          `SELECT count(*)::int AS n FROM ${table} t WHERE (t.owner_key = ANY($1::text[]) AND t.${who} = ANY($1::text[])) OR (${orphaned(kind)})`,
          [doers, [...doers, ...keysOf(subject)]],
        )
      })
    },
  }
}

/** Votes and reports of a subject; items are unit ids. */
export const voteDataSources = (db: Database): DataSource[] => [
  saidHolder(db, {
    table: 'unit_votes',
    who: 'voter_id',
    what: 'votes on others’ units, with what was said to them; the units keep their scores',
    held: 'votes on others’ units, with what was said to them',
    purpose: 'judging how good what was shared is',
    kept: 'as long as the unit, or until they are erased',
  }),
  saidHolder(db, {
    table: 'unit_reports',
    who: 'reporter_id',
    what: 'reports of others’ units, with their reasons',
    held: 'reports of others’ units, with their reasons',
    purpose: 'taking out what is harmful',
    kept: 'as long as the unit, or until they are erased',
  }),
]
