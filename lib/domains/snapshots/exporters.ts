import type { Exporter } from '#lib/kernel/exporter.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { jsonObject, recordPages, utc } from '#lib/stores/postgres/record-pages.ts'

const hex = (column: string): string => `encode(${column}, 'hex')`

/** Metadata of snapshots and of the uploaded state. Their bytes have their own routes, and the other parts export the content. */
export const snapshotExporters = (db: Database): Exporter[] => [
  {
    part: 'snapshots',
    bases: ['all'],
    tables: ['snapshots'],
    pages: (agentId, { until }) =>
      recordPages(db, {
        from: 'snapshots s',
        where: 's.agent_id = $1 AND s.created_at <= $2',
        values: [agentId, until],
        at: 's.created_at',
        id: 's.id',
        columns:
          's.id, s.kind, s.state, s.key_id AS ring_id, s.bytes, s.digest, s.failure, s.created_at, s.ready_at, s.expires_at',
        record: jsonObject({
          id: 'c.id',
          kind: 'c.kind',
          state: 'c.state',
          key_id: 'c.ring_id',
          bytes: 'c.bytes',
          sha256: hex('c.digest'),
          failure: 'c.failure',
          created_at: utc('c.created_at'),
          ready_at: utc('c.ready_at'),
          expires_at: utc('c.expires_at'),
        }),
      }),
  },
  {
    part: 'snapshot_links',
    bases: ['all'],
    tables: ['snapshot_links'],
    pages: (agentId, { until }) =>
      recordPages(db, {
        from: 'snapshot_links l',
        where: 'l.agent_id = $1 AND l.created_at <= $2',
        values: [agentId, until],
        at: 'l.created_at',
        id: hex('l.token_hash'),
        columns: 'l.snapshot_id, l.created_at, l.expires_at',
        record: jsonObject({
          snapshot_id: 'c.snapshot_id',
          created_at: utc('c.created_at'),
          expires_at: utc('c.expires_at'),
        }),
      }),
  },
  {
    part: 'uploaded_state',
    bases: ['provided', 'all'],
    tables: ['state_bundles'],
    pages: (agentId, { until }) =>
      recordPages(db, {
        from: 'state_bundles b',
        where: 'b.agent_id = $1 AND b.uploaded_at <= $2',
        values: [agentId, until],
        at: 'b.uploaded_at',
        id: 'b.agent_id',
        columns: 'b.media_type, b.bytes, b.digest, b.uploaded_at',
        record: jsonObject({
          media_type: 'c.media_type',
          bytes: 'c.bytes',
          sha256: hex('c.digest'),
          uploaded_at: utc('c.uploaded_at'),
        }),
      }),
  },
]
