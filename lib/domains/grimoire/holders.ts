import type { DataHolder } from '#lib/kernel/holder.ts'
import { type Database, queryWithin } from '#lib/stores/postgres/database.ts'
import { byIndex, chunked, countLeft, holding } from '#lib/stores/postgres/held-rows.ts'

interface Kind extends Pick<DataHolder, 'name' | 'stage' | 'what' | 'purpose' | 'kept'> {
  table: 'grimoire_entries' | 'keyrings'
  id: 'id' | 'key_id'
}

/** Rows of agents, each by its id. */
const rowsHolder = (db: Database, { table, id, ...words }: Kind): DataHolder => ({
  ...words,
  store: 'postgresql',
  tables: [table],
  inventory: ({ agents }) =>
    holding(
      db,
      `${table}-held`,
      `SELECT count(*)::int AS n, min(created_at) AS since FROM ${table} WHERE agent_id = ANY($1::text[])`,
      [agents],
    ),
  async plan(scope, tx) {
    if (!('subject' in scope)) return { items: [], held: {} }
    await byIndex(tx)
    const rows = await queryWithin<{ id: string }>(
      tx,
      `plan-${table}`,
      `SELECT ${id} AS id FROM ${table} WHERE agent_id = ANY($1::text[])`,
      [scope.subject.agents],
    )
    return { items: rows.map((row) => row.id).sort(), held: {} }
  },
  async erase(scope, items, tx) {
    if (!('subject' in scope)) return 0
    await byIndex(tx)
    const text = `DELETE FROM ${table} WHERE ${id} = ANY($1::text[]) RETURNING 1`
    return (await queryWithin(tx, `erase-${table}`, text, [items])).length
  },
  /** By whose they are as well as by their ids. */
  residue: (scope, items) =>
    'subject' in scope
      ? countLeft(db, async (ask) => {
          const { agents } = scope.subject
          await ask(`SELECT count(*)::int AS n FROM ${table} WHERE agent_id = ANY($1::text[])`, [agents])
          for (const chunk of chunked(items))
            await ask(
              `SELECT count(*)::int AS n FROM ${table} WHERE ${id} = ANY($1::text[]) AND NOT agent_id = ANY($2::text[])`,
              [chunk, agents],
            )
        })
      : Promise.resolve(0),
})

export const entryHolder = (db: Database): DataHolder =>
  rowsHolder(db, {
    name: 'grimoire.entries',
    table: 'grimoire_entries',
    id: 'id',
    stage: 'content',
    what: 'entries of grimoires: private ones as envelopes that only their owner opens, others sealed with the installation’s key',
    purpose: 'to keep what an agent learned, for itself and its owner',
    kept: 'until the agent or its owner deletes them, or until they end by themselves',
  })

/** After everything that is sealed to one, and before the agents' own rows. */
export const keyringHolder = (db: Database): DataHolder =>
  rowsHolder(db, {
    name: 'grimoire.keyrings',
    table: 'keyrings',
    id: 'key_id',
    stage: 'agent',
    what: 'keyrings of agents: keys that are wrapped by a passphrase and a recovery code which we never had',
    purpose: 'so that the owner opens private entries and snapshots on any machine',
    kept: 'while the agent is here',
  })
