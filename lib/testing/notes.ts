import type { DataSource } from '#lib/kernel/data-source.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import type { Database } from '#lib/stores/postgres/database.ts'

/** Test hooks of the data source: make `erase` or `residue` throw or wait, and count the calls. */
export interface NotesControl {
  beforeErase?: ((items: readonly string[]) => Promise<void> | void) | undefined
  /** Notes that `erase` does not delete. */
  forgets?: Set<string>
  erased: string[][]
}

const agentsOf = (scope: ErasureScope): string[] => ('subject' in scope ? [...scope.subject.agents] : [])

/** Creates the table in a test database. */
export const createNotes = (ownerUrl: string): Promise<unknown> =>
  withConnection(ownerUrl, async (owner) => {
    await owner.query(
      'CREATE TABLE notes (id text PRIMARY KEY, agent_id text NOT NULL, author text NOT NULL DEFAULT current_user)',
    )
    await owner.query('CREATE INDEX ON notes (agent_id)')
    await owner.query('GRANT ALL ON notes TO PUBLIC')
  })

export async function writeNotes(db: Database, agentId: string, count: number): Promise<string[]> {
  const rows = await db.query<{ id: string }>(
    undefined,
    "INSERT INTO notes (id, agent_id) SELECT 'note_' || gen_random_uuid(), $1 FROM generate_series(1, $2) RETURNING id",
    [agentId, count],
  )
  return rows.map(({ id }) => id).sort()
}
export const notesOf = async (db: Database, agentId: string): Promise<number> =>
  (await db.query(undefined, 'SELECT 1 FROM notes WHERE agent_id = $1', [agentId])).length

/**
 * An example data source with notes of agents. A new data source needs one file like this and one line where the
 * application is composed.
 */
export const noteDataSource =
  (control: NotesControl = { erased: [] }) =>
  (db: Database): DataSource => ({
    name: 'notes',
    store: 'notebook',
    stage: 'content',
    what: 'notes',
    purpose: 'to remember',
    kept: 'until the agent is erased',
    tables: ['notes'],
    async inventory({ agents }) {
      const rows = await db.query(undefined, 'SELECT 1 FROM notes WHERE agent_id = ANY($1::text[])', [agents])
      return { count: rows.length, since: null, until: null }
    },
    async plan(scope, tx) {
      const rows = await tx.$queryRaw<{ id: string }[]>`
        SELECT id FROM notes WHERE agent_id = ANY(${agentsOf(scope)}::text[]) ORDER BY id`
      return { items: rows.map(({ id }) => id), held: {} }
    },
    async erase(_scope, items, tx) {
      await control.beforeErase?.(items)
      control.erased.push([...items])
      const ids = items.filter((id) => !control.forgets?.has(id))
      return tx.$executeRaw`DELETE FROM notes WHERE id = ANY(${ids}::text[])`
    },
    async residue(scope, items) {
      const rows = await db.query(
        undefined,
        'SELECT 1 FROM notes WHERE agent_id = ANY($1::text[]) OR id = ANY($2::text[])',
        [agentsOf(scope), items],
      )
      return rows.length
    },
    identities: (items, tx) =>
      tx.$queryRaw`SELECT id, false AS "wasPublic" FROM notes WHERE id = ANY(${[...items]}::text[])`,
  })
