import type { Transaction } from '#lib/kernel/context.ts'
import type { DataSource } from '#lib/kernel/data-source.ts'
import type { ErasureScope, Subject } from '#lib/kernel/erasure-scope.ts'
import type { Exporter, ExportReader, PersonExporter } from '#lib/kernel/exporter.ts'
import { receiptText } from '#lib/kernel/receipt-texts.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { jsonObject, recordPages, utc } from '#lib/stores/postgres/record-pages.ts'
import { closeAsObsolete } from './execution/execution.ts'
import { countRemainingForms, deleteUnconfirmed, inventoryOfUnconfirmed, unconfirmedOf } from './form/repository.ts'
import type { PrivacyDeps } from './ports.ts'
import {
  assignToSubject,
  countResidue,
  countRetainedAddresses,
  deleteActors,
  deleteExportPaths,
  deleteNotes,
  deleteSubjects,
  inventoryOfRequests,
  lockRequests,
  requestsAbout,
  requestsNaming,
} from './repository.ts'
import { addressHashes, lockedRequest, requestSubjectHash, settle, systemWork } from './requests.ts'
import { retainedUntil } from './rules.ts'

const nobody: Subject = { account: null, agents: [] }
const subjectIn = (scope: ErasureScope): Subject => ('subject' in scope ? scope.subject : nobody)
/** The subject as values of statements: `actors` are its ids in the audit log. */
const valuesOf = ({ account, agents, participants = [] }: Subject) => ({
  subject: { account, agents, participants },
  actors: [...(account === null ? [] : [`user:${account}`]), ...agents],
})

const hashesOf = (
  { subjectKey }: Pick<PrivacyDeps, 'subjectKey'>,
  { account, agents, participants = [] }: Subject,
): string[] => [
  ...(account === null ? [] : [requestSubjectHash(subjectKey(), 'account', account)]),
  ...agents.map((id) => requestSubjectHash(subjectKey(), 'agent', id)),
  ...participants.map((id) => requestSubjectHash(subjectKey(), 'participant', id)),
]

interface AddressPort {
  /** Returns the email address of the account; undefined when the account does not exist. */
  addressOf(accountId: string, tx?: Transaction): Promise<string | undefined>
}
/** The keyed hashes of the subject's address, by which its requests from the form are found. */
export async function addressesOf(
  { subjectKey, addressOf }: Pick<PrivacyDeps, 'subjectKey'> & AddressPort,
  account: string | null,
  tx?: Transaction,
): Promise<string[]> {
  const email = account === null ? undefined : await addressOf(account, tx)
  return email === undefined ? [] : addressHashes(subjectKey(), email)
}

/**
 * Privacy requests. They prove that rights were answered and are retained for some years after closing. When the
 * subject is erased they become pseudonymous: kinds, states, times and counts without names and texts.
 * Open requests of the subject are closed as moot, so that a restored backup cannot start them again. The request that
 * is being carried out keeps its address until its last email is sent.
 */
export const requestDataSource = (
  deps: Pick<PrivacyDeps, 'db' | 'pipeline' | 'subjectKey' | 'requestsYears'> & AddressPort,
): DataSource => ({
  name: 'privacy.requests',
  store: 'postgresql',
  stage: 'account',
  what: 'names and texts in privacy requests; the kinds, states and times remain under a pseudonym',
  held: 'privacy requests: their content, steps and messages, and the sealed address for emails; requests from the form with the same address',
  purpose: 'to answer requests, and to prove that they were answered',
  kept: `${deps.requestsYears} ${deps.requestsYears === 1 ? 'year' : 'years'} after a request is closed`,
  basis: 'legal obligation (GDPR art. 6(1)(c) with art. 5(2), 12)',
  tables: ['privacy_requests', 'privacy_request_parts', 'privacy_request_events', 'privacy_links'],

  async inventory(subject) {
    const { subject: ids, actors } = valuesOf(subject)
    const addresses = await addressesOf(deps, ids.account)
    const [row] = await inventoryOfRequests(deps.db, { ...ids, addresses, actors })
    return {
      count: row?.n ?? 0,
      since: row?.since ?? null,
      until: row?.closed ? retainedUntil(row.closed, deps.requestsYears) : null,
    }
  },

  async plan(scope, tx) {
    const { subject, actors } = valuesOf(subjectIn(scope))
    const addresses = await addressesOf(deps, subject.account, tx)
    const rows = await requestsNaming(tx, { ...subject, addresses, actors, hashes: hashesOf(deps, subject) })
    return { items: rows.map(({ id }) => id), held: {} }
  },

  async erase(scope, ids, tx) {
    const { subject, actors } = valuesOf(subjectIn(scope))
    await lockRequests(tx, { ids })
    // Requests of others that the subject filed or was assigned to only lose the subject's name.
    const addresses = await addressesOf(deps, subject.account, tx)
    const own = await requestsAbout(tx, { ...subject, addresses, ids, hashes: hashesOf(deps, subject) })
    const ownIds = own.map(({ id }) => id)
    const work = systemWork(tx, deps.pipeline.clock.now(), 'erasure')
    for (const { id, isObsolete } of own) {
      const open = isObsolete ? await lockedRequest(tx, id) : undefined
      if (open) await closeAsObsolete(work, open)
    }
    // No emails about the closed requests: the emails about the erasure itself report the outcome.
    work.eventsToEmail.clear()
    await settle(deps, work)
    // A run that began before forms were a data source of their own has them among these items.
    await deleteUnconfirmed(tx, { ids })
    await deleteNotes(tx, { ids: ownIds })
    await deleteExportPaths(tx, { ids: ownIds })
    await tx.privacyLink.deleteMany({ where: { requestId: { in: ownIds } } })
    const [subjectKey] = hashesOf(deps, subject)
    if (subjectKey !== undefined) await assignToSubject(tx, { ids: ownIds, subjectKey })
    await deleteSubjects(tx, { ids: ownIds })
    await deleteActors(tx, { ids, actors, account: subject.account })
    return ids.length
  },

  /** Searches by the subject's keyed hash and by remaining texts, not by the columns that `erase` uses. */
  async residue(scope, items) {
    const { subject, actors } = valuesOf(subjectIn(scope))
    const { account } = subject
    const [row] = await countResidue(deps.db, { hashes: hashesOf(deps, subject), items, actors, account })
    return row?.n ?? 0
  },

  /** Searches by the keyed hash, because the request no longer names the subject. */
  async whileHeld(subject) {
    const [row] = await countRetainedAddresses(deps.db, { hashes: hashesOf(deps, subject) })
    return (row?.n ?? 0) === 0
      ? []
      : [
          {
            what: receiptText('retained', 'address'),
            ground: receiptText('grounds', 'end'),
          },
        ]
  },
})

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

/**
 * What people sent through the request form, for a day. A confirmed form becomes a privacy request, which an erasure does not delete
 * entirely.
 */
export const formDataSource = (deps: Parameters<typeof addressesOf>[0] & { db: Database }): DataSource => ({
  name: 'privacy.forms',
  store: 'postgresql',
  stage: 'account',
  what: 'privacy request forms: times, a keyed hash of the address, and the sealed content until it is confirmed by email',
  purpose: 'to process a request only after its address is confirmed',
  kept: '24 hours; without a mail server, 30 days or 24 hours after the link is forwarded',
  basis: 'legal obligation (GDPR art. 6(1)(c) with art. 12(6))',
  tables: ['unconfirmed_requests'],
  async inventory({ account }) {
    const [row] = await inventoryOfUnconfirmed(deps.db, { addresses: await addressesOf(deps, account) })
    return { count: row?.n ?? 0, since: row?.since ?? null, until: null }
  },
  async plan(scope, tx) {
    const account = 'subject' in scope ? scope.subject.account : null
    const rows = await unconfirmedOf(tx, { addresses: await addressesOf(deps, account, tx) })
    return { items: rows.map(({ id }) => id), held: {} }
  },
  async erase(_scope, ids, tx) {
    await deleteUnconfirmed(tx, { ids })
    return ids.length
  },
  async residue(_scope, items) {
    const [row] = await countRemainingForms(deps.db, { items })
    return row?.n ?? 0
  },
})
