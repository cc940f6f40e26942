import type { DataSource } from '#lib/kernel/data-source.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { rowsOfAgents } from '#lib/stores/postgres/legal-hold-rows.ts'

export const entryDataSource = (db: Database): DataSource =>
  rowsOfAgents(db, {
    ...{ name: 'grimoire.entries', stage: 'content', table: 'grimoire_entries', id: 'id', at: 'created_at' },
    what: 'entries of grimoires: private ones as envelopes that only their owner can open, others sealed with the installation’s key',
    purpose: 'to store what an agent learned, for the agent and its owner',
    kept: 'until the agent or its owner deletes them, or until they expire',
  })

/** Erased after everything that is sealed to a keyring, and before the agents' rows. */
export const keyringDataSource = (db: Database): DataSource =>
  rowsOfAgents(db, {
    ...{ name: 'grimoire.keyrings', stage: 'agent', table: 'keyrings', id: 'key_id', at: 'created_at' },
    what: 'keyrings of agents: keys wrapped under a passphrase and a recovery code that we never receive',
    purpose: 'to let the owner open private entries and snapshots on any device',
    kept: 'as long as the agent exists',
  })
