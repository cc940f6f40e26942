import type { DataSource } from '#lib/kernel/data-source.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { rowsOfAgents } from '#lib/stores/postgres/legal-hold-rows.ts'

export const exchangeDataSource = (db: Database): DataSource =>
  rowsOfAgents(db, {
    ...{ name: 'llm-log.entries', stage: 'content', table: 'llm_log_entries', id: 'id' },
    ...{ at: 'created_at', until: 'expires_at' },
    what: 'logged exchanges of agents with language models, scanned before they were stored and sealed with the installation’s key',
    purpose: 'to let an agent and its owner see the exchanges with models on their behalf',
    kept: 'for 24 hours, or until the agent or its owner deletes them',
  })
