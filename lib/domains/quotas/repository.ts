import type { TierName } from '#lib/domains/tokens/rules.ts'
import { statement, typed } from '#lib/stores/postgres/statement.ts'

const sumOf = (
  agents: string,
  projects: string,
) => `SELECT coalesce(sum(c.bytes), 0)::float8 AS bytes, coalesce(sum(c.rows), 0)::float8 AS rows FROM (
    SELECT bytes, rows FROM storage_counts WHERE agent_id IN (${agents})
    UNION ALL SELECT bytes, rows FROM storage_counts WHERE project_id IN (${projects})) AS c`
const ofNetwork = "FROM agent_states WHERE network = decode($network, 'hex') AND owner_id IS NULL AND tier = 'free'"

/** The storage of the unclaimed agents of one network. `network` is a keyed hash, hexadecimal. */
export const storageOfNetwork = statement('quotas.storage-of-network', {
  takes: { network: 'text' },
  returns: { bytes: 'float8', rows: 'float8' },
  isPrepared: true,
  sql: sumOf(
    `SELECT id ${ofNetwork}`,
    `SELECT id FROM project_organisations WHERE organisation_id IN (SELECT organisation_id ${ofNetwork})`,
  ),
})

/** The storage of an organization, its custom quota, and the highest tier of its agents. */
export const storageOfOrganisation = statement('quotas.storage-of-organisation', {
  takes: { organisation: 'text' },
  returns: {
    bytes: 'float8',
    rows: 'float8',
    quota_bytes: 'float8?',
    quota_rows: 'float8?',
    tier: typed<TierName | null>('text?'),
  },
  isPrepared: true,
  sql: `SELECT u.bytes, u.rows, o.quota_bytes::float8, o.quota_rows::float8,
      (SELECT max(tier)::text FROM agent_states WHERE organisation_id = $organisation) AS tier
    FROM (${sumOf(
      'SELECT id FROM agent_states WHERE organisation_id = $organisation',
      'SELECT id FROM project_organisations WHERE organisation_id = $organisation',
    )}) AS u
    LEFT JOIN organisation_quotas o ON o.id = $organisation`,
})

/** The network of an agent while it is unclaimed and has the tier free, so that it shares the quota of the network. */
export const sharedNetworkOf = statement('quotas.shared-network', {
  takes: { agent: 'text' },
  returns: { network: 'text?' },
  isPrepared: true,
  sql: "SELECT encode(network, 'hex') AS network FROM agent_states WHERE id = $agent AND owner_id IS NULL AND tier = 'free'",
})

const ownedBy = {
  agent: { column: 'agent_id', owners: 'agent_states' },
  project: { column: 'project_id', owners: 'project_organisations' },
} as const
type CountOwner = keyof typeof ownedBy

/**
 * Merges the counts of each of at most `limit` agents or projects into one row. Locks the owners first, in the lock order of their
 * deletion, and skips owners under deletion. A reader sees either all old rows or the merged one.
 */
export const mergeStorageCounts = statement('quotas.merge-counts', {
  takes: { limit: 'int4' },
  returns: 'count',
  variants: ['agent', 'project'],
  sql: (owner: CountOwner) => {
    const { column, owners } = ownedBy[owner]
    return `WITH holders AS (
      SELECT id FROM ${owners} WHERE id IN (
        SELECT ${column} FROM storage_counts WHERE ${column} IS NOT NULL GROUP BY ${column} HAVING count(*) > 1 LIMIT $limit)
      FOR KEY SHARE SKIP LOCKED),
    merged AS (
      DELETE FROM storage_counts c USING holders h WHERE c.${column} = h.id RETURNING h.id, c.bytes, c.rows)
    INSERT INTO storage_counts (${column}, bytes, rows) SELECT id, sum(bytes), sum(rows) FROM merged GROUP BY id`
  },
})
