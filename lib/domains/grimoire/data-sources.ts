import type { DataSource } from '#lib/kernel/data-source.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { rowsOfAgents } from '#lib/stores/postgres/legal-hold-rows.ts'

export const entryDataSource = (db: Database): DataSource =>
  rowsOfAgents(db, {
    ...{ name: 'grimoire.entries', stage: 'content', table: 'grimoire_entries', id: 'id', at: 'created_at' },
    what: 'entries of grimoires: private ones as envelopes that only their owner opens, others sealed with the installation’s key',
    purpose: 'to keep what an agent learned, for itself and its owner',
    kept: 'until the agent or its owner deletes them, or until they end by themselves',
  })

/** Erased after everything that is sealed to a keyring, and before the agents' rows. */
export const keyringDataSource = (db: Database): DataSource =>
  rowsOfAgents(db, {
    ...{ name: 'grimoire.keyrings', stage: 'agent', table: 'keyrings', id: 'key_id', at: 'created_at' },
    what: 'keyrings of agents: keys that are wrapped by a passphrase and a recovery code which we never had',
    purpose: 'so that the owner opens private entries and snapshots on any machine',
    kept: 'while the agent is here',
  })
