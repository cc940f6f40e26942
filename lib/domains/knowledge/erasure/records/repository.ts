// The rows of units and skills, as an erasure plans, locks, deletes and verifies them.

import { statement } from '#lib/stores/postgres/statement.ts'
import { joinKnowledgeHolds, knowledgeHoldSql, knowledgeHoldsSql } from '../repository.ts'

export const recordKinds = ['unit', 'skill'] as const
export type ErasableKind = (typeof recordKinds)[number]

export const heldByAgents = statement('knowledge.records-held', {
  takes: { agents: 'text[]' },
  returns: { n: 'int4', since: 'timestamptz?' },
  isPrepared: true,
  variants: recordKinds,
  sql: (kind: ErasableKind) =>
    `SELECT count(*)::int AS n, min(created_at) AS since FROM ${kind}s WHERE agent_id = ANY($agents)`,
})

/** Records of agents, with the legal holds that cover them. */
export const recordsWithHolds = statement('knowledge.records-with-holds', {
  takes: { agents: 'text[]', now: 'timestamptz' },
  returns: { id: 'text', hold: 'text?' },
  isPrepared: true,
  variants: recordKinds,
  sql: (kind: ErasableKind) => `WITH ${knowledgeHoldsSql(kind, '$now')}
    SELECT t.id, ${knowledgeHoldSql} AS hold FROM ${kind}s t ${joinKnowledgeHolds('t')} WHERE t.agent_id = ANY($agents)`,
})

/** Single records, which no legal hold retains: a hold rejects the request before their erasure. */
export const recordsById = statement('knowledge.records-by-id', {
  takes: { ids: 'text[]' },
  returns: { id: 'text', hold: 'text?' },
  isPrepared: true,
  variants: recordKinds,
  sql: (kind: ErasableKind) => `SELECT id, NULL::text AS hold FROM ${kind}s WHERE id = ANY($ids)`,
})

/** Locks those of the items that an erasure of these agents or single units selects. */
export const lockUnits = statement('knowledge.lock-units', {
  takes: { items: 'text[]', agents: 'text[]', ids: 'text[]' },
  returns: { id: 'text' },
  isPrepared: true,
  sql: 'SELECT id FROM units WHERE id = ANY($items) AND (agent_id = ANY($agents) OR id = ANY($ids)) ORDER BY id FOR UPDATE',
})

const dependentTables = ['unit_votes', 'unit_reports', 'sop_versions'] as const
const deleteDependents = statement('knowledge.delete-dependents', {
  takes: { ids: 'text[]' },
  returns: 'count',
  isPrepared: true,
  sql: `WITH votes AS (DELETE FROM unit_votes WHERE unit_id = ANY($ids)), reports AS (DELETE FROM unit_reports WHERE unit_id = ANY($ids))
    DELETE FROM sop_versions WHERE unit_id = ANY($ids)`,
})
const deleteUnitRows = statement('knowledge.delete-units', {
  takes: { ids: 'text[]' },
  returns: 'count',
  isPrepared: true,
  sql: 'DELETE FROM units WHERE id = ANY($ids)',
})
/**
 * Deletes dependent rows first, a page at a time: the database's cascade would process them row by row. Units have a statement of their
 * own, because triggers find the agent of a deleted version through its unit.
 */
export async function deleteUnits(on: Parameters<typeof deleteUnitRows>[0], ids: readonly string[]): Promise<void> {
  await deleteDependents(on, { ids })
  await deleteUnitRows(on, { ids })
}

/** Counts records of agents that no legal hold retains. */
export const countWithoutHold = statement('knowledge.residue-of-agents', {
  takes: { agents: 'text[]', now: 'timestamptz' },
  returns: { n: 'int4' },
  variants: recordKinds,
  sql: (kind: ErasableKind) => `WITH ${knowledgeHoldsSql(kind, '$now')}
    SELECT count(*)::int AS n FROM ${kind}s t ${joinKnowledgeHolds('t')} WHERE t.agent_id = ANY($agents) AND ${knowledgeHoldSql} IS NULL`,
})

const rowsById: Record<ErasableKind, readonly string[]> = {
  unit: ['units WHERE id', ...dependentTables.map((table) => `${table} WHERE unit_id`)],
  skill: ['skills WHERE id', 'skill_files WHERE skill_id'],
}
/** Counts rows under these ids in all tables that have such rows. */
export const countById = statement('knowledge.residue-by-id', {
  takes: { ids: 'text[]' },
  returns: { n: 'int4' },
  variants: recordKinds,
  sql: (kind: ErasableKind) =>
    `SELECT (${[...rowsById[kind], 'reputation_ledger WHERE subject_id']
      .map((rows) => `(SELECT count(*) FROM ${rows} = ANY($ids))`)
      .join(' + ')})::int AS n`,
})

/** Counts documents of other units that contain the id of an erased unit as their own. */
export const countDocumentsById = statement('knowledge.residue-in-documents', {
  takes: { ids: 'text[]' },
  returns: { n: 'int4' },
  sql: "SELECT count(*)::int AS n FROM units WHERE document->>'id' = ANY($ids) AND document->>'id' <> id AND id <> ALL($ids)",
})

/** Whether each record was ever visible outside its organization. */
export const identitiesOfRecords = statement('knowledge.record-identities', {
  takes: { ids: 'text[]' },
  returns: { id: 'text', wasPublic: 'bool' },
  isPrepared: true,
  variants: recordKinds,
  sql: (kind: ErasableKind) =>
    `SELECT id, was_public OR visibility = 'network' AS "wasPublic" FROM ${kind}s WHERE id = ANY($ids)`,
})

/** A unit that these agents, or an admin unless it is private, may erase, locked. */
export const lockErasableUnit = statement('knowledge.lock-erasable-unit', {
  takes: { id: 'text', agents: 'text[]', isAdmin: 'bool' },
  returns: { agent_id: 'text', attributed_to: 'text?', original_author: 'text?', version: 'int4', was_public: 'bool' },
  sql: `SELECT agent_id, attributed_to, original_author, version, was_public OR visibility = 'network' AS was_public
    FROM units WHERE id = $id AND (agent_id = ANY($agents) OR ($isAdmin AND visibility <> 'private')) FOR UPDATE`,
})

/** A skill that these agents, or an admin unless it is private, may erase, locked. */
export const lockErasableSkill = statement('knowledge.lock-erasable-skill', {
  takes: { id: 'text', agents: 'text[]', isAdmin: 'bool' },
  returns: { agent_id: 'text', version: 'int4', was_public: 'bool' },
  sql: `SELECT agent_id, version, was_public OR visibility = 'network' AS was_public
    FROM skills WHERE id = $id AND (agent_id = ANY($agents) OR ($isAdmin AND visibility <> 'private')) FOR UPDATE`,
})
