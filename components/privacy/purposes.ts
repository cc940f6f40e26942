import type en from '#messages/en.ts'
import type { LineKey } from './notice-lines.ts'

type Purpose = keyof typeof en.inventory.purposes

const lines: Record<Purpose, readonly LineKey[]> = {
  account: ['accounts'],
  security: [
    'accounts_sign-ins',
    'accounts_sessions',
    'accounts_identities',
    'accounts_factors',
    'accounts_recovery-codes',
    'accounts_links',
  ],
  access: ['agents', 'tokens', 'knowledge_rejections'],
  requests: ['privacy_requests', 'privacy_forms', 'exports_runs', 'exports_files'],
  agents: ['agents_documents', 'agents_heartbeats', 'agents_chain-references', 'grimoire_entries'],
  snapshots: ['snapshots_objects', 'snapshots_links', 'snapshots_rows', 'snapshots_state'],
  keys: ['snapshots_keys', 'grimoire_keyrings'],
  sharing: [
    'knowledge_units',
    'knowledge_skills',
    'knowledge_votes',
    'knowledge_reports',
    'knowledge_reputation',
    'knowledge_references',
  ],
  siblings: ['clades_deltas', 'clades_shares'],
  cards: ['clades_cards'],
  models: ['llm-log_entries'],
  statistics: ['telemetry_keys'],
  search: ['knowledge_words', 'cache_entries'],
  notices: ['accounts_email-choices', 'accounts_read-notices', 'mail_letters'],
  operation: ['queue_jobs', 'idempotency_answers'],
  accountability: [
    'agents_invites',
    'approvals_proposals',
    'audit_searches',
    'settings_acts',
    'retention_periods',
    'retention_shortenings',
    'retention_sweeps',
    'holds_acts',
    'holds_versions',
    'stores_acts',
  ],
  audit: ['audit_entries'],
  proof: ['erasure_receipts', 'erasure_owners', 'erasure_runs'],
  prevention: ['erasure_ids', 'erasure_suppressions', 'erasure_ledger'],
  projects: [
    'projects_projects',
    'projects_members',
    'projects_participants',
    'projects_conversations',
    'projects_messages',
    'projects_documents',
    'projects_references',
    'projects_quotations',
    'projects_outside',
    'graph_episodes',
    'checkpoints_messages',
    'checkpoints_threads',
    'objects_bytes',
  ],
}

/** The purpose of processing, by line of the privacy notice. */
export const purposes: ReadonlyMap<LineKey, Purpose> = new Map(
  purposeNames().flatMap((purpose) => lines[purpose].map((line): [LineKey, Purpose] => [line, purpose])),
)
function purposeNames(): Purpose[] {
  return Object.keys(lines).filter((name): name is Purpose => Object.hasOwn(lines, name))
}
