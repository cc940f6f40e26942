import type { Exporter, ExportReader, PersonExporter } from '#lib/kernel/exporter.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { jsonObject, recordPages, utc } from '#lib/stores/postgres/record-pages.ts'

/** Returns the SQL condition for the requests of the subject with this id: `$1` is the id, `$3` the hashes of its address. */
type SubjectCondition = (id: string, reader: ExportReader) => string
/** Returns the keyed hashes of the address of a subject. */
type Addresses = (id: string) => Promise<string[]>
const withoutAddress: Addresses = async () => []
/** A subject: its requests, and its address if requests from the form belong to it. */
interface Requester {
  mine: SubjectCondition
  addresses: Addresses
}

/** Exports the content and the parts of requests. */
const requestsPart = (db: Database, { mine, addresses }: Requester): PersonExporter => ({
  part: 'privacy_requests',
  bases: ['provided', 'all'],
  tables: ['privacy_requests', 'privacy_request_parts'],
  async *pages(id: string, reader: ExportReader) {
    yield* recordPages(db, {
      from: 'privacy_requests q',
      where: `(${mine(id, reader)}) AND $3::text[] IS NOT NULL AND q.received_at <= $2`,
      values: [id, reader.until, await addresses(id)],
      at: 'q.received_at',
      id: 'q.id',
      columns: 'q.*',
      weight: 'coalesce(pg_column_size(q.payload), 0)',
      record: jsonObject({
        id: 'c.id',
        kinds: 'c.kinds',
        channel: 'c.channel',
        asked: 'c.payload',
        grace: 'c.grace',
        received_at: utc('c.received_at'),
        ...(reader.basis === 'all' && {
          state: 'c.state',
          agent_id: 'c.agent_id',
          verified_by: 'c.verified_by',
          verified_at: utc('c.verified_at'),
          waiting_until: utc('c.waiting_until'),
          started_at: utc('c.started_at'),
          due_at: utc('c.due_at'),
          legal_due_at: utc('c.legal_due_at'),
          extended_at: utc('c.extended_at'),
          paused_at: utc('c.paused_at'),
          closed_at: utc('c.closed_at'),
          receipt_id: 'c.receipt_id',
          parts: `coalesce((SELECT json_agg(json_build_object('kind', p.kind, 'state', p.state, 'outcome', p.outcome) ORDER BY p.kind)
              FROM privacy_request_parts p WHERE p.request_id = c.id), '[]')`,
        }),
      }),
    })
  },
})

/** Exports the timeline of requests, without internal comments. */
const requestEventsPart = (db: Database, { mine, addresses }: Requester): PersonExporter => ({
  part: 'privacy_request_events',
  bases: ['all'],
  tables: ['privacy_request_events'],
  async *pages(id: string, reader: ExportReader) {
    yield* recordPages(db, {
      from: 'privacy_request_events e JOIN privacy_requests q ON q.id = e.request_id',
      where: `(${mine(id, reader)}) AND $3::text[] IS NOT NULL AND NOT e.is_internal AND e.at <= $2`,
      values: [id, reader.until, await addresses(id)],
      at: 'e.at',
      id: 'e.id',
      columns: 'e.id, e.request_id, e.at, e.by, e.event, e."from", e."to", e.note',
      record: jsonObject({
        request_id: 'c.request_id',
        at: utc('c.at'),
        by: 'c.by',
        event: 'c.event',
        from: 'c."from"',
        to: 'c."to"',
        note: 'c.note',
      }),
    })
  },
})

/** Exports when links were sent and used. */
const requestLinksPart = (db: Database, { mine, addresses }: Requester): PersonExporter => ({
  part: 'privacy_links',
  bases: ['all'],
  tables: ['privacy_links'],
  async *pages(id: string, reader: ExportReader) {
    yield* recordPages(db, {
      from: 'privacy_links l JOIN privacy_requests q ON q.id = l.request_id',
      where: `(${mine(id, reader)}) AND $3::text[] IS NOT NULL AND l.created_at <= $2`,
      values: [id, reader.until, await addresses(id)],
      at: 'l.created_at',
      id: "encode(l.hash, 'hex')",
      columns: 'l.hash, l.request_id, l.purpose, l.created_at, l.expires_at, l.used_at',
      // The hash is omitted, because it could confirm a guessed token.
      record: jsonObject({
        request_id: 'c.request_id',
        purpose: 'c.purpose',
        created_at: utc('c.created_at'),
        expires_at: utc('c.expires_at'),
        used_at: utc('c.used_at'),
      }),
    })
  },
})

/** Exports the requests of a subject: content, parts, timeline without internal comments, and when links were sent. */
const requestParts = (db: Database, subject: Requester): PersonExporter[] => [
  requestsPart(db, subject),
  requestEventsPart(db, subject),
  requestLinksPart(db, subject),
]

/** Exports when requests from the form were sent and confirmed; their content is deleted within a day, or becomes a request. */
const unconfirmedPart = (db: Database, addresses: Addresses): PersonExporter => ({
  part: 'unconfirmed_requests',
  bases: ['all'],
  tables: ['unconfirmed_requests'],
  async *pages(id: string, reader: ExportReader) {
    yield* recordPages(db, {
      from: 'unconfirmed_requests u',
      where: 'u.address_key = ANY($1) AND u.created_at <= $2',
      values: [await addresses(id), reader.until],
      at: 'u.created_at',
      id: 'u.id',
      columns: 'u.id, u.created_at, u.expires_at, u.emailed_at, u.used_at',
      record: jsonObject({
        id: 'c.id',
        created_at: utc('c.created_at'),
        expires_at: utc('c.expires_at'),
        emailed_at: utc('c.emailed_at'),
        confirmed_at: utc('c.used_at'),
      }),
    })
  },
})

/** Requests about the person, about participations that the person claimed, and from the form with the person's address. */
export const requestPersonExporters = (db: Database, addresses: Addresses): PersonExporter[] => [
  ...requestParts(db, {
    mine: () =>
      'q.account_id = $1 OR q.participant_id IN (SELECT n.id FROM participations n WHERE n.account_id = $1) OR q.address_key = ANY($3)',
    addresses,
  }),
  unconfirmedPart(db, addresses),
]
/** Requests about a participant of a project. */
export const requestParticipantExporters = (db: Database): PersonExporter[] =>
  requestParts(db, { mine: () => 'q.participant_id = $1', addresses: withoutAddress })

/**
 * Requests about one agent. The agent's own token exports only requests that it filed, because others may contain its
 * owner's texts.
 */
export const requestExporters = (db: Database): Exporter[] =>
  requestParts(db, {
    mine: (id, reader) =>
      reader.id === id ? "q.agent_id = $1 AND q.channel = 'api' AND q.filed_by = $1" : 'q.agent_id = $1',
    addresses: withoutAddress,
  })
