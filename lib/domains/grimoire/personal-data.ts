import type { DataSource } from '#lib/kernel/data-source.ts'
import type { Exporter } from '#lib/kernel/exporter.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { rowsOfAgents } from '#lib/stores/postgres/personal-rows.ts'
import { jsonObject, openedPages, recordPages, utc } from '#lib/stores/postgres/record-pages.ts'
import { exportedEntries } from './repository.ts'
import { entryViewOf } from './service.ts'

export const entryDataSource = (db: Database): DataSource =>
  rowsOfAgents(db, {
    name: 'grimoire.entries',
    stage: 'content',
    table: 'grimoire_entries',
    id: 'id',
    at: 'created_at',
    what: 'entries of grimoires: private ones as envelopes that only their owner can open, others sealed with the installation’s key',
    purpose: 'to store what an agent learned, for the agent and its owner',
    kept: 'until the agent or its owner deletes them, or until they expire',
  })

/** Erased after everything that is sealed to a keyring, and before the agents' rows. */
export const keyringDataSource = (db: Database): DataSource =>
  rowsOfAgents(db, {
    name: 'grimoire.keyrings',
    stage: 'agent',
    table: 'keyrings',
    id: 'key_id',
    at: 'created_at',
    what: 'keyrings of agents: keys wrapped under a passphrase and a recovery code that we never receive',
    purpose: 'to let the owner open private entries and snapshots on any device',
    kept: 'as long as the agent exists',
  })

/** Keyrings, and entries: private ones as envelopes, which the keyring opens, others in plain text. */
export const grimoireExporters = (db: Database, key: () => Uint8Array): Exporter[] => [
  {
    part: 'keyrings',
    bases: ['provided', 'all'],
    tables: ['keyrings'],
    pages: (agentId, { until }) =>
      recordPages(db, {
        from: 'keyrings k',
        where: 'k.agent_id = $1 AND k.created_at <= $2',
        values: [agentId, until],
        at: 'k.created_at',
        id: 'k.key_id',
        columns: 'k.key_id AS ring_id, k.keyring, k.revision, k.created_at, k.updated_at',
        record: jsonObject({
          key_id: 'c.ring_id',
          keyring: 'c.keyring',
          revision: 'c.revision',
          created_at: utc('c.created_at'),
          updated_at: utc('c.updated_at'),
        }),
      }),
  },
  {
    part: 'grimoire_entries',
    bases: ['provided', 'all'],
    tables: ['grimoire_entries'],
    pages: (agentId, { until }) =>
      openedPages(
        (after) => exportedEntries(db, { agent: agentId, until, ...after }),
        (row) => ({ at: row.created_at, id: row.id }),
        (row) => entryViewOf(row, key),
      ),
  },
]
