import type { TierName } from '#lib/domains/tokens/rules.ts'
import { maxNamesCompared } from '#lib/kernel/name-search.ts'
import { agentsUnderLegalHold } from '#lib/stores/postgres/agents-under-legal-hold.ts'
import { type RowOf, statement, typed } from '#lib/stores/postgres/statement.ts'
import type { AgentStatus } from './life/rules.ts'

const isFenced = (agent: string): string => `EXISTS (SELECT FROM fenced f WHERE f.kind = 'agent' AND f.id = ${agent})`
/** Whether no domain has a record of the agent, as SQL. */
const hasNoRecord = (agent: string): string => `NOT EXISTS (SELECT FROM agent_records r WHERE r.agent_id = ${agent})`

/** Locks the agent's row until the transaction ends. Other locks wait, but rows that refer to it can still be written. */
export const lockAgent = statement('agents.lock', {
  takes: { agent: 'text' },
  returns: { id: 'text' },
  sql: 'SELECT id FROM agents WHERE id = $agent FOR NO KEY UPDATE',
})

/** Locks the row of each agent exclusively, in the order of ids: waits for pending writes that refer to it. */
export const lockAgentsExclusively = statement('agents.lock-exclusively', {
  takes: { ids: 'text[]' },
  returns: { id: 'text' },
  sql: 'SELECT id FROM agents WHERE id = ANY($ids) ORDER BY id FOR UPDATE',
})

/** Like {@link lockAgentsExclusively}, and for the agents that the account owns. */
export const lockAgentsOfSubject = statement('agents.lock-of-subject', {
  takes: { owner: 'text?', ids: 'text[]' },
  returns: { id: 'text' },
  sql: 'SELECT id FROM agents WHERE owner_id = $owner OR id = ANY($ids) ORDER BY id FOR UPDATE',
})

/** Locks and returns consent and restriction of the named agents and of the agents that the account owns. Sorted by id, as all locks. */
export const lockAgentStatuses = statement('agents.lock-statuses', {
  takes: { owner: 'text?', ids: 'text[]' },
  returns: { id: 'text', consentWithdrawnAt: 'timestamptz?', restrictedAt: 'timestamptz?', restrictedFor: 'text[]' },
  sql: `SELECT id, consent_withdrawn_at AS "consentWithdrawnAt", restricted_at AS "restrictedAt", restricted_for AS "restrictedFor"
    FROM agents WHERE owner_id = $owner OR id = ANY($ids) ORDER BY id FOR NO KEY UPDATE`,
})

/** Sets consent and restriction of each agent. */
export const updateAgentStatuses = statement('agents.update-statuses', {
  takes: {
    statuses:
      typed<{ id: string; consentWithdrawnAt: Date | null; restrictedAt: Date | null; restrictedFor: string[] }[]>(
        'jsonb',
      ),
  },
  returns: 'count',
  sql: `UPDATE agents a SET consent_withdrawn_at = n."consentWithdrawnAt", restricted_at = n."restrictedAt", restricted_for = n."restrictedFor"
    FROM jsonb_to_recordset($statuses)
      AS n(id text, "consentWithdrawnAt" timestamptz, "restrictedAt" timestamptz, "restrictedFor" text[])
    WHERE a.id = n.id`,
})

/** Returns those of the given agents that have a write fence of an erasure. */
export const fencedAgents = statement('agents.fenced', {
  takes: { ids: 'text[]' },
  returns: { id: 'text' },
  sql: "SELECT id FROM fenced WHERE kind = 'agent' AND id = ANY($ids)",
})

/** Records the first use of any token of the agent. Returns the number of agents with this id. */
export const recordFirstUse = statement('agents.record-first-use', {
  takes: { agent: 'text', now: 'timestamptz' },
  returns: 'count',
  isPrepared: true,
  sql: 'UPDATE agents SET first_used_at = coalesce(first_used_at, $now) WHERE id = $agent',
})

const profileColumns = {
  id: 'text',
  name: 'text?',
  tier: typed<TierName>('tier'),
  ownerId: 'text?',
  organisationId: 'text',
  readsPerMinute: 'int4?',
  writesPerMinute: 'int4?',
  lawfulBasis: 'text',
  noticeVersion: 'text',
  consentAt: 'timestamptz?',
  consentVia: 'text?',
  consentWithdrawnAt: 'timestamptz?',
  restrictedAt: 'timestamptz?',
  restrictedFor: 'text[]',
  suspendedAt: 'timestamptz?',
  createdAt: 'timestamptz',
} as const
/** Properties of an agent that other domains may read. */
export type AgentRow = RowOf<typeof profileColumns>
export const agentProfile = statement('agents.profile', {
  takes: { agent: 'text' },
  returns: profileColumns,
  isPrepared: true,
  sql: `SELECT id, name, tier, owner_id AS "ownerId", organisation_id AS "organisationId",
      reads_per_minute AS "readsPerMinute", writes_per_minute AS "writesPerMinute", lawful_basis AS "lawfulBasis",
      notice_version AS "noticeVersion", consent_at AS "consentAt", consent_via AS "consentVia",
      consent_withdrawn_at AS "consentWithdrawnAt", restricted_at AS "restrictedAt",
      restricted_for AS "restrictedFor", suspended_at AS "suspendedAt", created_at AS "createdAt"
    FROM agents WHERE id = $agent`,
})

const ownColumns = {
  id: 'text',
  name: 'text?',
  tier: typed<TierName>('tier'),
  created_at: 'timestamptz',
  restricted_at: 'timestamptz?',
  restricted_for: 'text[]',
  suspended_at: 'timestamptz?',
  is_fenced: 'bool',
  status: typed<AgentStatus>('agent_status'),
  status_at: 'timestamptz?',
  died_at: 'timestamptz?',
  region: 'text?',
  self_hosted: 'bool',
  has_keyring: 'bool',
} as const
/** An agent in its owner's list. */
export type StoredOwnAgent = RowOf<typeof ownColumns>
const selectOwn = `a.id, a.name, a.tier, a.created_at, a.restricted_at, a.restricted_for, a.suspended_at, a.status, a.status_at, a.died_at,
  a.region, a.self_hosted, EXISTS (SELECT FROM agent_keyrings k WHERE k.agent_id = a.id) AS has_keyring, ${isFenced('a.id')} AS is_fenced`

/** A page of a person's agents, newest first, after the position (`at`, `id`). */
export const ownAgentsPage = statement('agents.own-page', {
  takes: { owner: 'text?', at: 'timestamptz?', id: 'text?', limit: 'int4' },
  returns: ownColumns,
  isPrepared: true,
  sql: `SELECT ${selectOwn} FROM agents a WHERE a.owner_id = $owner AND ($at IS NULL OR (a.created_at, a.id) < ($at, $id))
    ORDER BY a.created_at DESC, a.id DESC LIMIT $limit`,
})

export const countOwnAgents = statement('agents.count-own', {
  takes: { owner: 'text?' },
  returns: { n: 'int4' },
  isPrepared: true,
  sql: 'SELECT count(*)::int4 AS n FROM agents WHERE owner_id = $owner',
})

export const ownAgentDetails = statement('agents.own-details', {
  takes: { agent: 'text', owner: 'text?' },
  returns: {
    ...ownColumns,
    lawful_basis: 'text',
    notice_version: 'text',
    consent_at: 'timestamptz?',
    consent_via: 'text?',
    consent_withdrawn_at: 'timestamptz?',
    first_used_at: 'timestamptz?',
  },
  isPrepared: true,
  sql: `SELECT ${selectOwn}, a.lawful_basis, a.notice_version, a.consent_at, a.consent_via, a.consent_withdrawn_at, a.first_used_at
    FROM agents a WHERE a.id = $agent AND a.owner_id = $owner`,
})

/** Ids of the agents that a person owns, oldest first, without agents that are being erased. */
export const agentIdsOfOwner = statement('agents.ids-of-owner', {
  takes: { owner: 'text' },
  returns: { id: 'text' },
  isPrepared: true,
  sql: `SELECT id FROM agents a WHERE owner_id = $owner AND NOT ${isFenced('a.id')} ORDER BY created_at, id`,
})

export const lawfulBasesOfAgents = statement('agents.lawful-bases', {
  takes: { ids: 'text[]' },
  returns: { lawful_basis: 'text' },
  isPrepared: true,
  sql: 'SELECT DISTINCT lawful_basis FROM agents WHERE id = ANY($ids)',
})

/** Counts one agent, or all agents of an account if no agent is named. */
export const countRestrictions = statement('agents.count-restrictions', {
  takes: { owner: 'text?', agent: 'text?' },
  returns: { agents: 'int4', restricted: 'int4', withdrawn: 'int4' },
  isPrepared: true,
  sql: `SELECT count(*)::int4 AS agents, count(restricted_at)::int4 AS restricted, count(consent_withdrawn_at)::int4 AS withdrawn
    FROM agents WHERE id = $agent OR ($agent IS NULL AND owner_id = $owner)`,
})

/** Counts agents by status; suspended agents have a pending erasure. */
export const countAgentStatuses = statement('agents.count-statuses', {
  takes: { ids: 'text[]' },
  returns: { total: 'int4', restricted: 'int4', suspended: 'int4' },
  isPrepared: true,
  sql: `SELECT count(*)::int4 AS total, count(restricted_at)::int4 AS restricted, count(suspended_at)::int4 AS suspended
    FROM agents WHERE id = ANY($ids)`,
})

/** Locks an agent of the owner that is not retired. */
export const lockCladeAncestor = statement('agents.lock-clade-ancestor', {
  takes: { agent: 'text', owner: 'text' },
  returns: { cladeId: 'text?' },
  sql: `SELECT clade_id AS "cladeId" FROM agents WHERE id = $agent AND owner_id = $owner AND status <> 'dead' FOR NO KEY UPDATE`,
})

/** The other agents of the owner in the clade that are not retired, at most 1,000. An agent under erasure receives nothing. */
export const cladeSiblings = statement('agents.clade-siblings', {
  takes: { clade: 'text?', owner: 'text?', agent: 'text' },
  returns: { id: 'text', name: 'text?', status: typed<'active' | 'paused'>('agent_status') },
  sql: `SELECT b.id, b.name, b.status FROM agents b
    WHERE b.clade_id = $clade AND b.owner_id = $owner AND b.id <> $agent AND b.status <> 'dead' AND NOT ${isFenced('b.id')}
    ORDER BY b.id LIMIT 1000`,
})

export const agentInventory = statement('agents.inventory', {
  takes: { ids: 'text[]' },
  returns: { n: 'int4', since: 'timestamptz?' },
  isPrepared: true,
  sql: 'SELECT count(*)::int4 AS n, min(created_at) AS since FROM agents WHERE id = ANY($ids)',
})

/** Deletes agents without records. An agent with a retained record remains; the record's data source reports it. */
export const deleteAgents = statement('agents.delete', {
  takes: { ids: 'text[]' },
  returns: { organisation_id: 'text' },
  sql: `DELETE FROM agents a WHERE a.id = ANY($ids) AND ${hasNoRecord('a.id')} RETURNING organisation_id`,
})

/** Counts agents without records in the view that other domains read. */
export const countRemainingAgents = statement('agents.count-remaining', {
  takes: { ids: 'text[]' },
  returns: { n: 'int4' },
  isPrepared: true,
  sql: `SELECT count(*)::int4 AS n FROM agent_owners o WHERE o.id = ANY($ids) AND ${hasNoRecord('o.id')}`,
})

/**
 * Counts agents without a known lawful basis or notice, without consent where it is the basis, with withdrawn consent, and those of the
 * last that are not restricted.
 */
export const countLawfulBases = statement('agents.count-lawful-bases', {
  takes: {},
  returns: { agents: 'int4', without: 'int4', unconsented: 'int4', withdrawn: 'int4', unrestricted: 'int4' },
  sql: `SELECT count(*)::int4 AS agents,
      count(*) FILTER (WHERE lawful_basis NOT IN ('consent', 'contract', 'legitimate_interest') OR notice_version = '')::int4 AS without,
      count(*) FILTER (WHERE lawful_basis = 'consent' AND consent_at IS NULL)::int4 AS unconsented,
      count(*) FILTER (WHERE consent_withdrawn_at IS NOT NULL)::int4 AS withdrawn,
      count(*) FILTER (WHERE consent_withdrawn_at IS NOT NULL AND restricted_at IS NULL)::int4 AS unrestricted
    FROM agents`,
})

const isElsewhere = 'region IS NOT NULL AND NOT region = ANY($except)'

/** Counts the agents whose data must stay in a region other than these. */
export const countAgentsInRegions = statement('agents.count-in-regions', {
  takes: { except: 'text[]' },
  returns: { n: 'int4' },
  sql: `SELECT count(*)::int4 AS n FROM agents WHERE ${isElsewhere}`,
})

export const oldestAgentsInRegions = statement('agents.oldest-in-regions', {
  takes: { except: 'text[]', limit: 'int4' },
  returns: { id: 'text' },
  sql: `SELECT id FROM agents WHERE ${isElsewhere} ORDER BY created_at, id LIMIT $limit`,
})

// Agents in the admin list and in the search.
const listedColumns = {
  id: 'text',
  name: 'text?',
  tier: typed<TierName>('tier'),
  readsPerMinute: 'int4?',
  writesPerMinute: 'int4?',
  ownerId: 'text?',
  ownerName: 'text?',
  organisationId: 'text',
  organisationName: 'text',
  restrictedAt: 'timestamptz?',
  suspendedAt: 'timestamptz?',
  createdAt: 'timestamptz',
} as const
/** An agent in the admin list. */
export type ListedAgent = RowOf<typeof listedColumns>
const selectListed = `SELECT a.id, a.name, a.tier, a.reads_per_minute AS "readsPerMinute", a.writes_per_minute AS "writesPerMinute",
    a.owner_id AS "ownerId", w.name AS "ownerName", a.organisation_id AS "organisationId", o.name AS "organisationName",
    a.restricted_at AS "restrictedAt", a.suspended_at AS "suspendedAt", a.created_at AS "createdAt"
  FROM agents a JOIN organisation_names o ON o.id = a.organisation_id LEFT JOIN account_names w ON w.id = a.owner_id`
const isListed = `($pattern IS NULL OR lower(a.id) LIKE $pattern OR lower(a.name) LIKE $pattern OR lower(w.name) LIKE $pattern
      OR a.id = ANY($also))
    AND ($tier IS NULL OR a.tier::text = $tier)`

/** A page of all agents, newest first, after the position (`at`, `id`). `pattern`: a LIKE pattern in lower case. */
export const listedAgentsPage = statement('agents.listed-page', {
  takes: { pattern: 'text?', also: 'text[]', tier: 'text?', at: 'timestamptz?', id: 'text?', limit: 'int4' },
  returns: listedColumns,
  isPrepared: true,
  sql: `${selectListed} WHERE ${isListed} AND ($at IS NULL OR (a.created_at, a.id) < ($at, $id))
    ORDER BY a.created_at DESC, a.id DESC LIMIT $limit`,
})

/** Counts agents, up to `max`. */
export const countListedAgents = statement('agents.count-listed', {
  takes: { pattern: 'text?', also: 'text[]', tier: 'text?', max: 'int4' },
  returns: { n: 'int4' },
  isPrepared: true,
  sql: `SELECT count(*)::int4 AS n FROM (SELECT FROM agents a
    LEFT JOIN account_names w ON w.id = a.owner_id WHERE ${isListed} LIMIT $max) AS counted`,
})

export const listedAgent = statement('agents.listed', {
  takes: { agent: 'text' },
  returns: listedColumns,
  isPrepared: true,
  sql: `${selectListed} WHERE a.id = $agent`,
})

/** SQL: the id and the name of an agent `a`, as the index `agents_words_idx` has them. */
const words = "lower(a.id || ' ' || coalesce(a.name, ''))"

/** Agents whose id or name matches: those of the owner, or all agents with `everyone`. */
export const foundAgents = statement('agents.found', {
  takes: { one: 'text', other: 'text', start: 'text', everyone: 'bool', owner: 'text?', limit: 'int4' },
  returns: { id: 'text', name: 'text?', ownerId: 'text?' },
  sql: `SELECT f.id, f.name, f."ownerId" FROM (SELECT a.id, a.name, a.owner_id AS "ownerId" FROM agents a
      WHERE (${words} LIKE $one OR ${words} LIKE $other) AND ($everyone OR a.owner_id = $owner)
      LIMIT ${maxNamesCompared}) f
    ORDER BY lower(f.id) LIKE $start DESC, lower(coalesce(f.name, '')) LIKE $start DESC, f.name, f.id LIMIT $limit`,
})

/** Serializes the creation of agents by one person. */
export const lockCreation = statement('agents.lock-creation', {
  takes: { owner: 'text' },
  returns: { lock: 'text' },
  sql: "SELECT pg_advisory_xact_lock(hashtext('agents of'), hashtext($owner))::text AS lock",
})

/** Adds a registration to those of its network, and returns the number of registrations since `since`, at most `max` + 1. */
export const addRegistration = statement('agents.add-registration', {
  takes: { network: 'bytea', now: 'timestamptz', since: 'timestamptz', max: 'int4' },
  returns: { n: 'int4' },
  sql: `INSERT INTO registration_networks AS r (network, times, last_at) VALUES ($network, ARRAY[$now], $now)
    ON CONFLICT (network) DO UPDATE SET last_at = $now,
      times = ARRAY[$now] || ARRAY(SELECT t FROM unnest(r.times) t WHERE t > $since ORDER BY t DESC LIMIT $max)
    RETURNING cardinality(times) AS n`,
})

export const deleteNetworks = statement('agents.delete-networks', {
  takes: { before: 'timestamptz' },
  returns: 'count',
  sql: 'DELETE FROM registration_networks WHERE last_at <= $before',
})

/**
 * Deletes unowned agents that never used a token, with their tokens. Skips agents in use or being claimed, which are locked, and agents
 * with a record: these lost their owner to an erasure, and a legal hold retains the record.
 */
export const deleteUnusedAgents = statement('agents.delete-unused', {
  takes: { before: 'timestamptz', now: 'timestamptz', limit: 'int4' },
  returns: { organisation_id: 'text' },
  sql: `DELETE FROM agents WHERE id IN (
      SELECT id FROM agents WHERE first_used_at IS NULL AND owner_id IS NULL AND created_at < $before
        AND ${hasNoRecord('agents.id')} AND id NOT IN (${agentsUnderLegalHold('$now')})
      ORDER BY created_at LIMIT $limit FOR UPDATE SKIP LOCKED)
    RETURNING organisation_id`,
})

export const deleteOldInvites = statement('agents.delete-old-invites', {
  takes: { before: 'timestamptz', limit: 'int4' },
  returns: 'count',
  sql: `DELETE FROM invites WHERE code_hash IN (
    SELECT code_hash FROM invites WHERE expires_at < $before OR used_at < $before LIMIT $limit)`,
})
