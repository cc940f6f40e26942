import { isDeepStrictEqual } from 'node:util'
import type { Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import type { Input } from '#lib/kernel/operation.ts'
import { encodeCursor, parseCursor } from '#lib/kernel/pages.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import {
  addEntry,
  deleteEntry,
  type EditBody,
  type EntryView,
  EnvelopeForm,
  editEntry,
  listEntries,
  readEntry,
} from './contract.ts'
import { isStoredAs, openStored, type StoredEntry, sealStored } from './entry-content.ts'
import type { GrimoirePorts, StoredEntryPorts } from './ports.ts'
import {
  countEntries,
  entriesPage,
  type GrimoireEntryRow,
  insertEntry,
  lockVisibleEntry,
  nextEntry,
  updateEntry,
  visibleEntry,
} from './repository.ts'
import { goneBefore, mostEntries } from './rules.ts'

const noEntry = () => new Problem('not_found', 'This agent has no entry with this id, or the entry has expired.')

/** An entry as its agent and its owner see it. @throws when the sealed content cannot be opened */
export const entryViewOf = (row: GrimoireEntryRow, key: () => Uint8Array): EntryView => ({
  id: row.id,
  agent_id: row.agent_id,
  kind: row.kind,
  scope: row.scope,
  envelope: row.envelope === null ? null : EnvelopeForm.parse(row.envelope),
  entry: row.sealed === null ? null : openStored(key(), row.id, row.sealed),
  valid_until: row.valid_until?.toISOString() ?? null,
  revision: row.revision,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})

/** Whether the entry already has this content. */
function stands(row: GrimoireEntryRow, body: EditBody, key: () => Uint8Array): boolean {
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

/** Whether the agent has any entry, also an expired one. */
export const hasEntries = async (tx: Transaction, agentId: string): Promise<boolean> =>
  (await tx.grimoireEntry.findFirst({ where: { agentId }, select: { id: true } })) !== null

/** Unexpired entries of an agent by id. `private`: the installation cannot read the entry. */
export const entriesOf =
  ({ key, grimoireDaysOf }: StoredEntryPorts) =>
  async (tx: Transaction, agentId: string, ids: readonly string[], now: Date) => {
    if (ids.length === 0) return new Map<string, (StoredEntry & { kind: string }) | 'private'>()
    const rows = await tx.grimoireEntry.findMany({
      where: { agentId, id: { in: [...ids] }, OR: [{ validUntil: null }, { validUntil: { gt: now } }] },
    })
    const gone = rows.length === 0 ? null : goneBefore(await grimoireDaysOf(tx, agentId), now)
    const standing = rows.filter(({ createdAt }) => gone === null || createdAt > gone)
    return new Map<string, (StoredEntry & { kind: string }) | 'private'>(
      standing.map(({ id, kind, sealed }) => [
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
  const [row] = await visibleEntry(db, { agent: agentId, now, gone: goneBefore(days, now), id: entryId })
  if (!row) throw noEntry()
  return row
}

const list = ({ db, key, agents }: Pick<GrimoirePorts, 'db' | 'key' | 'agents'>) =>
  read(listEntries, async ({ actor, now }, { params: { id }, query }) => {
    const { kind, scope, cursor, limit } = query
    const after = parseCursor(cursor)
    const agent = await agents.own(actor, id)
    const conditions = {
      ...{ agent: id, now, gone: goneBefore(agent.grimoireDays, now), kind: kind ?? null, scope: scope ?? null },
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
    if ((await tx.grimoireEntry.count({ where: { agentId } })) >= mostEntries)
      throw new Problem(
        'conflict',
        `This agent has ${mostEntries.toLocaleString('en')} entries, which is the limit. Nothing was stored. Delete some first.`,
      )
    if (body.scope === 'private') await refuseOtherKey(tx, agentId, body.envelope.key_id)
    const id = body.scope === 'private' ? body.id : newId('ent')
    const stored = await insertEntry(tx, {
      ...{ id, agent: agentId, kind: body.kind, scope: body.scope },
      ...contentOf(id, body, key, now),
    })
    if (stored === 0)
      throw new Problem('id_in_use', 'An entry with this id already exists. Nothing was stored. Use a new id.')
    return {
      resourceId: id,
      details: { agent_id: agentId, kind: body.kind, scope: body.scope },
      body: { data: { id, kind: body.kind, scope: body.scope, revision: 1, updated_at: now.toISOString() } },
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
    const gone = goneBefore(agent.grimoireDays, now)
    const [row] = await lockVisibleEntry(tx, { agent: agentId, now, gone, id: entryId })
    if (!row) throw noEntry()
    if (row.scope !== body.scope)
      throw new Problem(
        'conflict',
        `The scope of this entry is "${row.scope}" and cannot be changed. Nothing was changed. Create a new entry.`,
      )
    const changed = (revision: number, at: Date) => ({
      resourceId: entryId,
      details: { agent_id: agentId, fields: [body.scope === 'private' ? 'envelope' : 'content'] },
      body: { data: { id: entryId, kind: row.kind, scope: row.scope, revision, updated_at: at.toISOString() } },
    })
    // A repetition after a lost response returns the stored revision.
    if (row.revision === body.revision + 1 && stands(row, body, key)) return changed(row.revision, row.updated_at)
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
export const grimoireEntries = (ports: GrimoirePorts) => ({
  listEntries: list(ports),
  addEntry: add(ports),
  readEntry: readOne(ports),
  editEntry: edit(ports),
  deleteEntry: remove(ports),
})
