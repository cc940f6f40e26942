import type { Exporter, PersonExporter } from '#lib/kernel/exporter.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { jsonObject, recordPages, utc } from '#lib/stores/postgres/record-pages.ts'

const shape = { part: 'held_versions', bases: ['all'], tables: ['held_versions'] } as const

/** The versions that the condition selects. The id of the hold and its reason are not part of them. */
const versions = (db: Database, where: string, values: readonly unknown[]) =>
  recordPages(db, {
    from: 'held_versions v',
    where,
    values,
    at: 'v.at',
    id: 'v.id',
    columns: 'v.id, v.table_name, v.content, v.at',
    weight: 'pg_column_size(v.content)',
    record: jsonObject({ id: 'c.id', table: 'c.table_name', changed_at: utc('c.at'), record: 'c.content' }),
  })

/** Versions are as private as the most private record: only the agent and its owner get them. */
export const heldVersionExporters = (db: Database): Exporter[] => [
  {
    ...shape,
    pages: (agentId, { until, agents }) =>
      versions(db, 'v.agent_id = $1 AND v.at <= $2 AND v.agent_id = ANY($3::text[])', [agentId, until, agents]),
  },
]

/** What a person's account, messages and claimed participations were before a change. */
export const heldVersionPersonExporters = (db: Database): PersonExporter[] => [
  {
    ...shape,
    pages: (accountId, { until }) =>
      versions(
        db,
        `(v.account_id = $1 OR v.participant_id IN (SELECT p.id FROM participations p WHERE p.account_id = $1)) AND v.at <= $2`,
        [accountId, until],
      ),
  },
]

/** For a participant, who may have no account. */
export const heldVersionParticipantExporters = (db: Database): PersonExporter[] => [
  {
    ...shape,
    pages: (participantId, { until }) => versions(db, 'v.participant_id = $1 AND v.at <= $2', [participantId, until]),
  },
]
