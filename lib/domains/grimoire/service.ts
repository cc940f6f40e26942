import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { seal, sealedPurposes, unseal } from '#lib/config/secret.ts'
import { grimoireDaysOf } from '#lib/domains/agents/queries.ts'
import { refuseKeys } from '#lib/domains/pii/secrets/stored-keys.ts'
import { isSealedTo } from '#lib/domains/snapshots/writes.ts'
import type { Actor, Context, Transaction } from '#lib/kernel/context.ts'
import type { DataSource } from '#lib/kernel/data-source.ts'
import { type EvidenceCheck, endsInTime } from '#lib/kernel/evidence.ts'
import type { Exporter } from '#lib/kernel/exporter.ts'
import { newId } from '#lib/kernel/ids.ts'
import { job } from '#lib/kernel/job.ts'
import type { PersonalData } from '#lib/kernel/module.ts'
import type { Input } from '#lib/kernel/operation.ts'
import { encodeCursor, parseCursor, Timestamp } from '#lib/kernel/pages.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { notePurge } from '#lib/kernel/purging.ts'
import { guardEndOfAccess, mutation, read } from '#lib/kernel/use-case.ts'
import { agentsUnderLegalHold, lockHolds } from '#lib/stores/postgres/agents-under-legal-hold.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { rowsOfAgents } from '#lib/stores/postgres/personal-tables.ts'
import { jsonObject, openedPages, recordPages, utc } from '#lib/stores/postgres/record-pages.ts'
import {
  addEntry,
  deleteEntry,
  type EditBody,
  type EntryView,
  EnvelopeForm,
  editEntry,
  KeyringForm,
  listEntries,
  readEntry,
  readKeyring,
  storeKeyring,
} from './contract.ts'
import { keyringOf } from './queries.ts'
import {
  countEntries,
  deleteExpiredEntries,
  entriesPage,
  exportedEntries,
  type GrimoireEntryRow,
  insertEntry,
  insertKeyring,
  lockVisibleEntry,
  nextEntry,
  updateEntry,
  visibleEntry,
} from './repository.ts'
import { erasedBefore, grimoireEntryBytes, maxEntries } from './rules.ts'

const other = (detail: string) => new Problem('conflict', `${detail} Nothing was changed.`)

interface GrimoireAgent {
  id: string
  ownerId: string | null
  grimoireDays: number | null
}

/** Dependencies of the domain; its module makes them. */
export interface GrimoirePorts {
  db: Database
  /** The key that seals entries with the scope `clade` at rest. */
  key(): Uint8Array
  agents: {
    /** The actor itself, or an agent that the actor owns. @throws Problem `not_found` */
    own(actor: Actor, id: string): Promise<GrimoireAgent>
    /** Locks the agent until the transaction ends, for a deletion. @throws Problem `held` under legal hold */
    erasable(tx: Transaction, actor: Actor, id: string, now: Date): Promise<GrimoireAgent>
    /** Locks the agent until the transaction ends, for a write. */
    writable(tx: Transaction, actor: Actor, id: string): Promise<GrimoireAgent>
  }
}

/** Stores and returns keyrings of clients. The installation cannot open them. */
const keyrings = ({ db, agents }: GrimoirePorts) => ({
  readKeyring: read(readKeyring, async ({ actor }, { params: { id } }) => {
    await agents.own(actor, id)
    const row = await db.prisma.keyring.findUnique({ where: { agentId: id } })
    if (!row)
      throw new Problem(
        'not_found',
        'This agent has no keyring yet. Its owner can create one in the console or with `kp grimoire init`.',
      )
    return {
      resourceId: row.keyId,
      details: { agent_id: id },
      body: {
        data: {
          agent_id: id,
          keyring: KeyringForm.parse(row.keyring),
          revision: row.revision,
          created_at: row.createdAt,
          updated_at: row.updatedAt,
        },
      },
    }
  }),

  storeKeyring: mutation(storeKeyring, async (ctx, { params: { id }, body }) => {
    const { tx, actor, now } = ctx
    const { ownerId } = await agents.writable(tx, actor, id)
    // Nothing shows that the new wraps contain the same key, or that the owner knows the passphrase of a first keyring.
    guardEndOfAccess(
      ctx,
      ownerId !== null,
      'store or change the keyring of an agent that has an owner (with kp, the owner adds --as)',
    )
    const { keyring } = body
    const publicKey = Buffer.from(keyring.public_key, 'base64url')
    const before = await tx.keyring.findUnique({ where: { agentId: id } })
    const answer = (revision: number, status: 200 | 201) => ({
      status,
      resourceId: keyring.key_id,
      details: { agent_id: id, revision, replaced: before !== null && before.keyId !== keyring.key_id },
      body: { data: { agent_id: id, key_id: keyring.key_id, revision, updated_at: now } },
    })
    if (!before && body.revision !== undefined) throw other('This agent has no keyring to change.')
    if (before && body.revision !== before.revision)
      throw other(
        `The keyring has revision ${before.revision}${body.revision === undefined ? ', and a change must name its revision' : `, not ${body.revision}. Read it again`}.`,
      )
    if (before && before.keyId === keyring.key_id && !publicKey.equals(before.publicKey))
      throw other('The keys of a keyring, including its public key, cannot be changed.')
    if (before && before.keyId !== keyring.key_id) {
      if (!body.replace) throw other('This is a different keyring. To replace the keyring, set `replace`.')
      const isInUse =
        (await tx.grimoireEntry.count({ where: { agentId: id, scope: 'private' } })) > 0 ||
        (await isSealedTo(tx, id, before.keyId))
      if (isInUse)
        throw other('Entries or snapshots are sealed under the current keyring and could never be opened again.')
      await agents.erasable(tx, actor, id, now)
      await tx.keyring.delete({ where: { agentId: id } })
    }
    if (before && before.keyId === keyring.key_id) {
      await tx.keyring.update({
        where: { agentId: id },
        data: { keyring, revision: before.revision + 1, updatedAt: now },
      })
      return answer(before.revision + 1, 200)
    }
    const stored = await insertKeyring(tx, { agent: id, id: keyring.key_id, keyring, publicKey, now })
    if (stored === 0) throw other('A keyring with this id already exists. Create another keyring.')
    return answer(1, before ? 200 : 201)
  }),
})

const noEntry = () => new Problem('not_found', 'This agent has no entry with this id, or the entry has expired.')

const Json: z.ZodType = z.json()
/** The content of an entry with the scope `clade`. */
const StoredEntry = z.strictObject({
  content: Json,
  confidence: z.number().nullable(),
  tags: z.array(z.string()),
  provenance: Json,
  parents: z.array(z.string()),
  valid_from: z.string().nullable(),
  valid_until: z.string().nullable(),
})
type StoredEntry = z.output<typeof StoredEntry>

interface Sent {
  content: unknown
  confidence: number
  tags: string[]
  provenance: unknown
  parents: string[]
  valid_from?: Date | undefined
  valid_until?: Date | undefined
}

const asStored = (sent: Sent): StoredEntry => ({
  content: sent.content,
  confidence: sent.confidence,
  tags: sent.tags,
  provenance: sent.provenance ?? null,
  parents: sent.parents,
  valid_from: sent.valid_from?.toISOString() ?? null,
  valid_until: sent.valid_until?.toISOString() ?? null,
})

/**
 * Seals the content for this entry with the installation key. @throws Problem `too_large`, or `content_blocked` for a
 * private key or a seed phrase
 */
function sealStored(key: Uint8Array, id: string, sent: Sent): Buffer {
  const stored = asStored(sent)
  const plain = Buffer.from(JSON.stringify(stored))
  if (plain.length > grimoireEntryBytes)
    throw new Problem(
      'too_large',
      'The entry is larger than 64 KiB as JSON, which is the limit. Nothing was stored. Split it into two entries.',
    )
  const { content, tags, provenance, parents } = stored
  refuseKeys({ content, tags, provenance, parents }, 'The entry')
  return seal(key, plain, id)
}

const openStored = (key: Uint8Array, id: string, sealed: Uint8Array): StoredEntry =>
  StoredEntry.parse(JSON.parse(unseal(key, sealed, id).toString('utf8')))

/** Whether the sent content would be stored as `stored`. */
const isStoredAs = (sent: Sent, stored: StoredEntry): boolean =>
  isDeepStrictEqual(StoredEntry.parse(JSON.parse(JSON.stringify(asStored(sent)))), stored)

/** An entry as its agent and its owner see it. @throws when the sealed content cannot be opened */
const entryViewOf = (row: GrimoireEntryRow, key: () => Uint8Array): z.input<typeof EntryView> => ({
  id: row.id,
  agent_id: row.agent_id,
  kind: row.kind,
  scope: row.scope,
  envelope: row.envelope === null ? null : EnvelopeForm.parse(row.envelope),
  entry: row.sealed === null ? null : openStored(key(), row.id, row.sealed),
  valid_until: row.valid_until,
  revision: row.revision,
  created_at: row.created_at,
  updated_at: row.updated_at,
})

/** Whether the entry already has this content. */
function isUnchanged(row: GrimoireEntryRow, body: EditBody, key: () => Uint8Array): boolean {
  if (row.valid_until?.getTime() !== body.valid_until?.getTime()) return false
  if (body.scope === 'private') return isDeepStrictEqual(EnvelopeForm.parse(row.envelope), body.envelope)
  return row.sealed !== null && isStoredAs(body, openStored(key(), row.id, row.sealed))
}

/** The columns of an entry's content: an envelope that only the owner opens, or content that the installation seals. */
const contentOf = (id: string, body: Input<typeof addEntry>['body'] | EditBody, key: () => Uint8Array, now: Date) => ({
  envelope: body.scope === 'private' ? body.envelope : null,
  sealed: body.scope === 'clade' ? sealStored(key(), id, body) : null,
  validUntil: body.valid_until ?? null,
  now,
})

function refusePast(until: Date | undefined, now: Date): void {
  if (until && until <= now) throw invalid(['valid_until'], 'must be in the future')
}

/** Unexpired entries of an agent by id. `private`: the installation cannot read the entry. */
const entriesOf =
  ({ key }: Pick<GrimoirePorts, 'key'>) =>
  async (tx: Transaction, agentId: string, ids: readonly string[], now: Date) => {
    if (ids.length === 0) return new Map<string, (StoredEntry & { kind: string }) | 'private'>()
    const rows = await tx.grimoireEntry.findMany({
      where: { agentId, id: { in: [...ids] }, OR: [{ validUntil: null }, { validUntil: { gt: now } }] },
    })
    const expiredBefore = rows.length === 0 ? null : erasedBefore(await grimoireDaysOf(tx, agentId), now)
    const remaining = rows.filter(({ createdAt }) => expiredBefore === null || createdAt > expiredBefore)
    return new Map<string, (StoredEntry & { kind: string }) | 'private'>(
      remaining.map(({ id, kind, sealed }) => [
        id,
        sealed === null ? 'private' : { ...openStored(key(), id, sealed), kind },
      ]),
    )
  }

/** @throws {Problem} `conflict` if the agent has no keyring, `invalid` if it has another key */
async function refuseOtherKey(tx: Transaction, agentId: string, keyId: string): Promise<void> {
  const ring = await tx.keyring.findUnique({ where: { agentId }, select: { keyId: true } })
  if (!ring)
    throw new Problem(
      'conflict',
      'This agent has no keyring yet, so private entries cannot be sealed. Nothing was stored. Create a keyring in the console or with `kp grimoire init`.',
    )
  if (ring.keyId !== keyId) throw invalid(['envelope', 'key_id'], 'must be the key id of the agent’s keyring')
}

async function foundEntry(
  db: GrimoirePorts['db'],
  agentId: string,
  days: number | null,
  entryId: string,
  now: Date,
): Promise<GrimoireEntryRow> {
  const [row] = await visibleEntry(db, { agent: agentId, now, expiredBefore: erasedBefore(days, now), id: entryId })
  if (!row) throw noEntry()
  return row
}

const list = ({ db, key, agents }: Pick<GrimoirePorts, 'db' | 'key' | 'agents'>) =>
  read(listEntries, async ({ actor, now }, { params: { id }, query }) => {
    const { kind, scope, cursor, limit } = query
    const after = parseCursor(cursor)
    const agent = await agents.own(actor, id)
    const conditions = {
      agent: id,
      now,
      expiredBefore: erasedBefore(agent.grimoireDays, now),
      kind: kind ?? null,
      scope: scope ?? null,
    }
    const [rows, [count]] = await Promise.all([
      entriesPage(db, { ...conditions, at: after?.at ?? null, id: after?.id ?? '', limit: limit + 1 }),
      countEntries(db, conditions),
    ])
    const shown = rows.slice(0, limit)
    const last = shown.at(-1)
    const isMore = rows.length > limit || (last !== undefined && last.before > 0 && (await isAfter()))
    async function isAfter(): Promise<boolean> {
      if (!last) return false
      const [next] = await nextEntry(db, { ...conditions, at: last.created_at, id: last.id })
      return next !== undefined
    }
    return {
      resourceId: id,
      resourceType: 'agent',
      details: { count: shown.length },
      body: {
        data: shown.map((row) => entryViewOf(row, key)),
        total: count?.n ?? 0,
        offset: 0,
        limit,
        next_cursor: last && isMore ? encodeCursor(last.created_at, last.id) : null,
      },
    }
  })

const add = ({ key, agents }: Pick<GrimoirePorts, 'key' | 'agents'>) =>
  mutation(addEntry, async ({ tx, actor, now }, { params: { id: agentId }, body }) => {
    refusePast(body.valid_until, now)
    await agents.writable(tx, actor, agentId)
    if ((await tx.grimoireEntry.count({ where: { agentId } })) >= maxEntries)
      throw new Problem(
        'conflict',
        `This agent has ${maxEntries.toLocaleString('en')} entries, which is the limit. Nothing was stored. Delete some first.`,
      )
    if (body.scope === 'private') await refuseOtherKey(tx, agentId, body.envelope.key_id)
    const id = body.scope === 'private' ? body.id : newId('ent')
    const stored = await insertEntry(tx, {
      id,
      agent: agentId,
      kind: body.kind,
      scope: body.scope,
      ...contentOf(id, body, key, now),
    })
    if (stored === 0)
      throw new Problem('id_in_use', 'An entry with this id already exists. Nothing was stored. Use a new id.')
    return {
      resourceId: id,
      details: { agent_id: agentId, kind: body.kind, scope: body.scope },
      body: { data: { id, kind: body.kind, scope: body.scope, revision: 1, updated_at: now } },
    }
  })

const readOne = ({ db, key, agents }: Pick<GrimoirePorts, 'db' | 'key' | 'agents'>) =>
  read(readEntry, async ({ actor, now }, { params: { id, entryId } }) => {
    const agent = await agents.own(actor, id)
    const row = await foundEntry(db, id, agent.grimoireDays, entryId, now)
    return { resourceId: entryId, details: { agent_id: id }, body: { data: entryViewOf(row, key) } }
  })

const edit = ({ key, agents }: Pick<GrimoirePorts, 'key' | 'agents'>) =>
  mutation(editEntry, async ({ tx, actor, now }, { params: { id: agentId, entryId }, body }) => {
    refusePast(body.valid_until, now)
    const agent = await agents.writable(tx, actor, agentId)
    const expiredBefore = erasedBefore(agent.grimoireDays, now)
    const [row] = await lockVisibleEntry(tx, { agent: agentId, now, expiredBefore, id: entryId })
    if (!row) throw noEntry()
    if (row.scope !== body.scope)
      throw new Problem(
        'conflict',
        `The scope of this entry is "${row.scope}" and cannot be changed. Nothing was changed. Create a new entry.`,
      )
    const changed = (revision: number, at: Date) => ({
      resourceId: entryId,
      details: { agent_id: agentId, fields: [body.scope === 'private' ? 'envelope' : 'content'] },
      body: { data: { id: entryId, kind: row.kind, scope: row.scope, revision, updated_at: at } },
    })
    // A repetition after a lost response returns the stored revision.
    if (row.revision === body.revision + 1 && isUnchanged(row, body, key)) return changed(row.revision, row.updated_at)
    if (row.revision !== body.revision)
      throw new Problem(
        'conflict',
        `The entry now has revision ${row.revision}, not ${body.revision}, so nothing was changed. Read it again, then send your change.`,
      )
    if (body.scope === 'private') await refuseOtherKey(tx, agentId, body.envelope.key_id)
    const revision = row.revision + 1
    await updateEntry(tx, { id: entryId, revision, ...contentOf(entryId, body, key, now) })
    return changed(revision, now)
  })

const remove = ({ agents }: Pick<GrimoirePorts, 'agents'>) =>
  mutation(deleteEntry, async ({ tx, actor, now }, { params: { id: agentId, entryId } }) => {
    await agents.erasable(tx, actor, agentId, now)
    const { count } = await tx.grimoireEntry.deleteMany({ where: { id: entryId, agentId } })
    if (count === 0) throw noEntry()
    return { body: undefined, resourceId: entryId, details: { agent_id: agentId } }
  })

/** Entries of the grimoire. Private ones are envelopes that the installation cannot open. */
const grimoireEntries = (ports: GrimoirePorts) => ({
  listEntries: list(ports),
  addEntry: add(ports),
  readEntry: readOne(ports),
  editEntry: edit(ports),
  deleteEntry: remove(ports),
})

/** What agents learned, and the keyrings that open their private entries. */
const grimoireService = (ports: GrimoirePorts) => ({ ...keyrings(ports), ...grimoireEntries(ports) })

/** The agent into which records are restored, and their new ids. */
interface Goal {
  agentId: string
  now: Date
  /** The restored id of a record. Clients set the ids of private entries, because the envelope is bound to the id. */
  named(id: string): string
}

const Record = z.object({
  id: z.string().regex(/^ent_[0-9A-Za-z]{22}$/, 'is not the id of an entry'),
  kind: z.string(),
  scope: z.string(),
  envelope: z.unknown(),
  entry: z.record(z.string(), z.unknown()).nullable(),
  valid_until: Timestamp.nullable(),
  created_at: Timestamp,
})

/** Validates the record like a new entry. @throws Problem `invalid` */
function entryOf(record: unknown) {
  const refused = (issue: z.core.$ZodIssue | undefined) =>
    invalid(['grimoire_entries', ...(issue?.path ?? [])].map(String), issue?.message ?? 'is not an entry')
  const { data: read, error } = Record.safeParse(record)
  if (!read) throw refused(error.issues[0])
  const { id, kind, scope, envelope, entry } = read
  const { confidence, content, tags, provenance, parents, valid_from } = entry ?? {}
  const form = addEntry.body.safeParse(
    scope === 'private'
      ? { scope, id, kind, envelope }
      : { scope, kind, confidence, content, tags, provenance, parents, valid_from: valid_from ?? undefined },
  )
  if (!form.data) throw refused(form.error.issues[0])
  return { id, validUntil: read.valid_until, createdAt: read.created_at, form: form.data }
}

/**
 * Restores exported entries into an agent that is locked and writable. Keeps existing entries, skips expired ones and
 * preserves creation times.
 * @throws Problem `invalid`, `conflict`, `id_in_use`, `too_large` or `content_blocked`; then none of these records is
 * stored
 */
const entryRestorer = ({ key }: Pick<GrimoirePorts, 'key'>) => ({
  part: 'grimoire_entries',
  resourceType: 'grimoire_entry',
  async restore(tx: Transaction, { agentId, now, named }: Goal, records: readonly unknown[]) {
    const [days, ring] = await Promise.all([grimoireDaysOf(tx, agentId), keyringOf(tx, agentId)])
    const expiredBefore = erasedBefore(days, now)
    const all = records.map(entryOf)
    const remaining = all.filter(
      ({ validUntil, createdAt }) =>
        (validUntil === null || validUntil > now) && (expiredBefore === null || createdAt > expiredBefore),
    )
    const data = remaining.map(({ id: before, form, validUntil, createdAt }) => {
      if (form.scope === 'private' && form.envelope.key_id !== ring?.keyId)
        throw new Problem('invalid', {
          detail:
            'A private entry is not sealed with the keyring of the target agent. Open it with its passphrase, then seal it with this agent’s keyring.',
          issues: [
            { path: ['grimoire_entries', 'envelope', 'key_id'], message: 'must be the key id of the agent’s keyring' },
          ],
        })
      const id = form.scope === 'private' ? form.id : named(before)
      return {
        id,
        agentId,
        kind: form.kind,
        scope: form.scope,
        ...(form.scope === 'private'
          ? { envelope: form.envelope }
          : { sealed: new Uint8Array(sealStored(key(), id, { ...form, valid_until: validUntil ?? undefined })) }),
        validUntil,
        createdAt: createdAt > now ? now : createdAt,
        updatedAt: now,
      }
    })
    const stored = await tx.grimoireEntry.createManyAndReturn({ data, skipDuplicates: true, select: { id: true } })
    const ids = [...new Set(data.map(({ id }) => id))]
    if ((await tx.grimoireEntry.count({ where: { agentId, id: { in: ids } } })) < ids.length)
      throw new Problem('id_in_use', 'One of these entry ids belongs to another agent. No entry was stored.')
    if ((await tx.grimoireEntry.count({ where: { agentId } })) > maxEntries)
      throw new Problem(
        'conflict',
        `With these entries, the agent would have more than ${maxEntries.toLocaleString('en')}, which is the limit. Delete some first.`,
      )
    return { stored: stored.map(({ id }) => id), ended: all.length - remaining.length }
  },
})

interface Keys {
  keyFor(purpose: string): () => Uint8Array
}

/** Entries expire at their own time, or after the number of days that the owner set. Entries under legal hold are not overdue. */
export const grimoireEvidence = (): EvidenceCheck[] => [
  endsInTime(
    'grimoire.ended',
    `SELECT least(g.valid_until, g.created_at + make_interval(days => a.grimoire_days)) AS ends
     FROM grimoire_entries g JOIN agent_states a ON a.id = g.agent_id
     WHERE g.agent_id NOT IN (${agentsUnderLegalHold('$1')})`,
  ),
]

const batch = 1_000

/** Deletes expired entries: at their own time, or after the number of days that the owner set. Under legal hold, when the hold ends. */
function grimoireJobs() {
  async function removeEnded(ctx: Context, tx: Transaction): Promise<number> {
    await lockHolds(tx)
    const entriesDeleted = await deleteExpiredEntries(tx, { now: ctx.now, limit: batch })
    return notePurge(ctx, tx, {
      what: 'entries that ended',
      results: { entriesDeleted },
      resourceType: 'grimoire_entry',
      resourceId: 'ended',
    })
  }

  return [
    job({
      name: 'grimoire.purge-ended',
      payload: z.unknown(),
      cron: '23 * * * *',
      async run(ctx) {
        while ((await ctx.pipeline.transaction((tx) => removeEnded(ctx, tx))) === batch);
      },
    }),
  ]
}

/** Sealed entries of agents, and their keyrings. */
export function grimoireModule({
  db,
  keyFor,
  ownAgents,
}: Keys & Pick<GrimoirePorts, 'db'> & { ownAgents: GrimoirePorts['agents'] }) {
  const key = keyFor(sealedPurposes.grimoire)
  return {
    useCases: { grimoire: grimoireService({ db, key, agents: ownAgents }) },
    jobs: grimoireJobs(),
    checks: grimoireEvidence(),
    /** What snapshots contain and restore of the grimoire. */
    state: { exporters: grimoireExporters(db, key), restorer: entryRestorer({ key }) },
    entriesOf: entriesOf({ key }),
  }
}

const entryDataSource = (db: Database): DataSource =>
  rowsOfAgents(db, {
    name: 'grimoire.entries',
    stage: 'content',
    table: 'grimoire_entries',
    id: 'id',
    at: 'created_at',
    what: 'entries of grimoires: private ones as envelopes that only their owner can open, others sealed with the installation’s key',
    purpose: 'to store what an agent learned, for the agent and its owner',
    kept: 'until the agent or its owner deletes them, or until they expire',
  })

/** Erased after everything that is sealed to a keyring, and before the agents' rows. */
const keyringDataSource = (db: Database): DataSource =>
  rowsOfAgents(db, {
    name: 'grimoire.keyrings',
    stage: 'agent',
    table: 'keyrings',
    id: 'key_id',
    at: 'created_at',
    what: 'keyrings of agents: keys wrapped under a passphrase and a recovery code that we never receive',
    purpose: 'to let the owner open private entries and snapshots on any device',
    kept: 'as long as the agent exists',
  })

/** Keyrings, and entries: private ones as envelopes, which the keyring opens, others in plain text. */
const grimoireExporters = (db: Database, key: () => Uint8Array): Exporter[] => [
  {
    part: 'keyrings',
    bases: ['provided', 'all'],
    tables: ['keyrings'],
    pages: (agentId, { until }) =>
      recordPages(db, {
        from: 'keyrings k',
        where: 'k.agent_id = $1 AND k.created_at <= $2',
        values: [agentId, until],
        at: 'k.created_at',
        id: 'k.key_id',
        columns: 'k.key_id AS ring_id, k.keyring, k.revision, k.created_at, k.updated_at',
        record: jsonObject({
          key_id: 'c.ring_id',
          keyring: 'c.keyring',
          revision: 'c.revision',
          created_at: utc('c.created_at'),
          updated_at: utc('c.updated_at'),
        }),
      }),
  },
  {
    part: 'grimoire_entries',
    bases: ['provided', 'all'],
    tables: ['grimoire_entries'],
    pages: (agentId, { until }) =>
      openedPages(
        (after) => exportedEntries(db, { agent: agentId, until, ...after }),
        (row) => ({ at: row.created_at, id: row.id }),
        (row) => entryViewOf(row, key),
      ),
  },
]

export const grimoireData = ({
  db,
  keyFor,
}: {
  db: Database
  keyFor(purpose: string): () => Uint8Array
}): PersonalData => ({
  // The keyring is erased after everything that is sealed with it.
  dataSources: [entryDataSource(db), keyringDataSource(db)],
  exporters: grimoireExporters(db, keyFor(sealedPurposes.grimoire)),
})
