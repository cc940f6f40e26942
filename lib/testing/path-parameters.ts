import type { TestApp } from './app.ts'

/** For the beginning of a path, a query whose columns are the path parameters of records that exist. */
const queries: Record<string, string> = {
  '/api/account/emails/{kind}': 'SELECT kind::text FROM email_choices',
  '/api/account/factors/{id}': 'SELECT id FROM account_factors',
  '/api/account/identities/{id}': 'SELECT subject AS id FROM account_identities',
  '/api/admin/agents/{id}': 'SELECT id FROM agents',
  '/api/admin/erasures/{id}': 'SELECT receipt_id AS id FROM erasures',
  '/api/admin/organisations/{id}': 'SELECT id FROM organisations',
  '/api/admin/privacy/requests/{id}': 'SELECT id FROM privacy_requests',
  '/api/admin/privacy/unconfirmed/{id}': 'SELECT id FROM unconfirmed_requests',
  '/api/admin/proposals/{id}': 'SELECT id FROM approval_proposals',
  '/api/admin/users/{id}': 'SELECT id FROM accounts',
  '/api/agents/{id}': 'SELECT id FROM agents',
  '/api/audit/searches/{id}': 'SELECT id FROM saved_searches',
  '/api/erasures/{id}': 'SELECT id FROM erasure_runs',
  '/api/erasures/{id}/threads/{threadId}':
    'SELECT r.id, unnest(c.threads) AS "threadId" FROM erasure_runs r, conversations c',
  '/api/knowledge/{id}': 'SELECT id FROM units',
  '/api/members/{id}': 'SELECT id FROM accounts',
  '/api/participations/{participantId}': 'SELECT id AS "participantId" FROM project_participants',
  '/api/privacy/exports/{id}': 'SELECT id FROM prepared_exports',
  '/api/privacy/requests/{id}': 'SELECT id FROM privacy_requests',
  '/api/projects/{projectId}': 'SELECT id AS "projectId" FROM projects',
  '/api/projects/{projectId}/conversations/{conversationId}':
    'SELECT project_id AS "projectId", id AS "conversationId" FROM conversations',
  '/api/projects/{projectId}/conversations/{conversationId}/messages/{messageId}':
    'SELECT project_id AS "projectId", conversation_id AS "conversationId", id AS "messageId" FROM messages',
  '/api/projects/{projectId}/conversations/{conversationId}/messages/{messageId}/attachments/{attachmentId}':
    'SELECT m.project_id AS "projectId", m.conversation_id AS "conversationId", m.id AS "messageId", a.id AS "attachmentId" FROM messages m JOIN attachments a ON a.message_id = m.id',
  '/api/projects/{projectId}/documents/{documentId}':
    'SELECT project_id AS "projectId", id AS "documentId" FROM documents',
  '/api/projects/{projectId}/members/{kind}/{memberId}':
    'SELECT project_id AS "projectId", kind::text, member_id AS "memberId" FROM project_members',
  '/api/projects/{projectId}/participants/{participantId}':
    'SELECT project_id AS "projectId", id AS "participantId" FROM project_participants',
  '/api/projects/{projectId}/participants/{participantId}/requests/{id}':
    'SELECT p.project_id AS "projectId", p.id AS "participantId", r.id FROM project_participants p JOIN privacy_requests r ON r.participant_id = p.id',
  '/api/readings/places/{id}': 'SELECT id FROM remaining_places',
  '/api/sessions/{id}': 'SELECT id FROM sessions ORDER BY created_at',
  '/api/skills/{id}': 'SELECT id FROM skills',
  '/api/stores/{id}': 'SELECT id FROM known_stores',
  '/v1/agents/{id}': 'SELECT id FROM agents',
  '/v1/agents/{id}/chain-references/{referenceId}': 'SELECT agent_id AS id, id AS "referenceId" FROM chain_references',
  '/v1/agents/{id}/clade/shares/{shareId}': 'SELECT agent_id AS id, id AS "shareId" FROM clade_shares',
  '/v1/agents/{id}/documents/{documentId}': 'SELECT agent_id AS id, id AS "documentId" FROM agent_documents',
  '/v1/agents/{id}/grimoire/{entryId}': 'SELECT agent_id AS id, id AS "entryId" FROM grimoire_entries',
  '/v1/agents/{id}/snapshots/{snapshotId}': 'SELECT agent_id AS id, id AS "snapshotId" FROM snapshots',
  '/v1/auth/tokens/{id}': 'SELECT id FROM tokens ORDER BY created_at',
  '/v1/export/{agent_id}': 'SELECT id AS agent_id FROM agents',
  '/v1/holds/{id}': 'SELECT id FROM legal_holds',
  '/v1/knowledge/{id}': 'SELECT id FROM units',
  '/v1/llm-log/{id}': 'SELECT id FROM llm_log_entries',
  '/v1/quarantine/{id}': 'SELECT id FROM units WHERE quarantined_at IS NOT NULL UNION ALL SELECT id FROM units',
  '/v1/receipts/{id}': 'SELECT receipt_id AS id FROM erasures',
  '/v1/reputation/{agent_id}': 'SELECT id AS agent_id FROM agents',
  '/v1/retention/sweeps/{id}': 'SELECT id FROM retention_sweeps',
  '/v1/skills/{id}': 'SELECT id FROM skills',
  '/v1/sop/{id}': `SELECT id FROM units WHERE type = 'ExpertSOP'`,
  '/v1/sop/{id}/versions/{version}': 'SELECT unit_id AS id, version FROM sop_versions',
}

/** The path parameters of existing records, at most `most` for each beginning of a path. */
export async function pathParameters({ app }: TestApp, most = 200): Promise<Record<string, Record<string, unknown>[]>> {
  const found = Object.entries(queries).map(async ([beginning, query]) => {
    return [beginning, await app.db.query<Record<string, unknown>>(undefined, `${query} LIMIT ${most}`)] as const
  })
  return Object.fromEntries(await Promise.all(found))
}
