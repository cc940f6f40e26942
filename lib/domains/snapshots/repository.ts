import { agentsUnderLegalHold } from '#lib/stores/postgres/agents-under-legal-hold.ts'
import { type Queryable, statement } from '#lib/stores/postgres/statement.ts'
import { maxInsurances } from './rules.ts'

const ofAgents = { agents: 'text[]' } as const
const inventory = { n: 'int4', since: 'timestamptz?' } as const

export const keyInventory = statement('snapshots.key-inventory', {
  takes: ofAgents,
  returns: inventory,
  isPrepared: true,
  sql: "SELECT count(*)::int4 AS n, min(created_at) AS since FROM snapshots WHERE agent_id = ANY($agents) AND state = 'ready'",
})

export const snapshotsOfAgents = statement('snapshots.of-agents', {
  takes: ofAgents,
  returns: { id: 'text' },
  isPrepared: true,
  sql: 'SELECT id FROM snapshots WHERE agent_id = ANY($agents)',
})

export const objectInventory = statement('snapshots.object-inventory', {
  takes: ofAgents,
  returns: inventory,
  isPrepared: true,
  sql: `SELECT count(*)::int4 AS n, min(at) AS since FROM (
    SELECT created_at AS at FROM snapshots WHERE agent_id = ANY($agents) AND state = 'ready'
    UNION ALL SELECT uploaded_at FROM state_bundles WHERE agent_id = ANY($agents)) AS objects`,
})

/** Objects of snapshots and uploaded states. An object of a snapshot that is not ready may not exist. */
export const objectsOfAgents = statement('snapshots.objects-of-agents', {
  takes: ofAgents,
  returns: { key: 'text', exists: 'bool' },
  isPrepared: true,
  sql: `SELECT object_key AS key, state = 'ready' AS exists FROM snapshots WHERE agent_id = ANY($agents)
    UNION ALL SELECT object_key, true FROM state_bundles WHERE agent_id = ANY($agents)`,
})

/** At most one row for each snapshot and uploaded state. */
const anyObject = statement('snapshots.any-object', {
  takes: {},
  returns: { found: 'int4' },
  sql: 'SELECT 1 AS found FROM state_bundles UNION ALL SELECT 1 FROM snapshots LIMIT 1',
})

/** Those of the objects that a row names. */
export const namedObjects = statement('snapshots.named-objects', {
  takes: { keys: 'text[]' },
  returns: { key: 'text' },
  isPrepared: true,
  sql: `SELECT object_key AS key FROM snapshots WHERE object_key = ANY($keys)
    UNION ALL SELECT object_key FROM state_bundles WHERE object_key = ANY($keys)`,
})

/**
 * Marks expired snapshots for deletion. A legal hold keeps the insurance snapshots of a retired agent, because they are its last copies.
 * On-demand snapshots expire, because they copy data that the hold keeps.
 */
export const markExpired = statement('snapshots.mark-expired', {
  takes: { now: 'timestamptz', limit: 'int4' },
  returns: { id: 'text' },
  sql: `UPDATE snapshots SET state = 'gone' WHERE id IN (
      SELECT id FROM snapshots WHERE state <> 'gone' AND expires_at <= $now
        AND (kind = 'on_demand' OR agent_id NOT IN (${agentsUnderLegalHold('$now')}))
      ORDER BY expires_at LIMIT $limit FOR UPDATE SKIP LOCKED)
    RETURNING id`,
})

/** Marks insurance snapshots beyond the newest few of each agent for deletion. */
export const markReplaced = statement('snapshots.mark-replaced', {
  takes: { limit: 'int4' },
  returns: 'count',
  sql: `UPDATE snapshots SET state = 'gone' WHERE id IN (
    SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY agent_id ORDER BY created_at DESC, id DESC) AS n
      FROM snapshots WHERE kind = 'insurance' AND state = 'ready') AS s WHERE n > ${maxInsurances} LIMIT $limit)`,
})

/** Locks agents without an insurance snapshot since `since` that may have one in these regions, and returns their keyrings. */
export const lockAgentsToInsure = statement('snapshots.lock-agents-to-insure', {
  takes: { regions: 'text[]', since: 'timestamptz', limit: 'int4' },
  returns: { agent_id: 'text', key_id: 'text' },
  sql: `SELECT a.id AS agent_id, k.key_id FROM agent_states a JOIN agent_keyrings k ON k.agent_id = a.id
    WHERE a.status <> 'dead' AND a.suspended_at IS NULL AND a.restricted_at IS NULL AND (a.region IS NULL OR a.region = ANY($regions))
      AND NOT EXISTS (SELECT FROM snapshots s WHERE s.agent_id = a.id AND s.kind = 'insurance' AND s.created_at > $since)
    ORDER BY a.id LIMIT $limit FOR NO KEY UPDATE OF a SKIP LOCKED`,
})

/** Whether a snapshot or an uploaded state names an object in the object store. */
export const snapshotsNameObjects = async (on: Queryable): Promise<boolean> => (await anyObject(on, {})).length > 0
