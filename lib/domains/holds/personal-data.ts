import type { ClientBase } from 'pg'
import { z } from 'zod'
import { deriveKey, seal, unsealed } from '#lib/config/secret.ts'
import type { DataSource, ReadPage, ReadPlace, RetainedRecord } from '#lib/kernel/data-source.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import type { Exporter, ExportPage, PersonExporter } from '#lib/kernel/exporter.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { adminChanges, holdingOf, plannedOf, sumRemaining } from '#lib/stores/postgres/personal-tables.ts'
import { jsonObject, recordPages, utc } from '#lib/stores/postgres/record-pages.ts'
import type { SealedColumn } from '#lib/stores/postgres/sealed-column.ts'
import {
  countVersions,
  deleteVersions,
  resealVersion,
  sealedVersions,
  versionInventory,
  versionsAfter,
  versionsInScope,
} from './repository.ts'

/** The values by which versions of a scope are found. */
interface VersionScope {
  agents: string[]
  accounts: string[]
  participants: string[]
  anchors: string[]
  /** Ids of the subject as they occur in the JSON of versions of other people's records. */
  names: string[]
}
const nothing: VersionScope = { agents: [], accounts: [], participants: [], anchors: [], names: [] }

function versionScope(scope: ErasureScope): VersionScope {
  if ('unit' in scope) return { ...nothing, anchors: [`unit:${scope.unit}`] }
  if ('skill' in scope) return { ...nothing, anchors: [`skill:${scope.skill}`] }
  if ('part' in scope) return { ...nothing, anchors: [`${scope.part.kind}:${scope.part.id}`] }
  const { account, agents, participants = [] } = scope.subject
  const accounts = account === null ? [] : [account]
  const ids = [...agents, ...participants, ...accounts, ...accounts.map((id) => `user:${id}`)]
  const anchors = (kind: string, of: readonly string[]) => of.map((id) => `${kind}:${id}`)
  return {
    agents: [...agents],
    accounts,
    participants: [...participants],
    anchors: [...anchors('agent', agents), ...anchors('account', accounts), ...anchors('participant', participants)],
    names: ids.map((id) => JSON.stringify(id)),
  }
}

/** A column that is sealed at rest, and the field in which exports show its text. */
export interface SealedVersionColumn {
  table: string
  id: string
  column: string
  field: string
  key(): Uint8Array
}

/**
 * Seals the values of a column with the secret `to` in versions that legal holds preserve. A value that no secret of `from` opens remains,
 * like its row.
 */
export async function resealHeldVersions(
  client: ClientBase,
  { table, id, column, purpose }: SealedColumn,
  { from, to }: { from: readonly string[]; to: string },
): Promise<void> {
  const present = deriveKey(to, purpose)
  const former = from.map((secret) => deriveKey(secret, purpose))
  for (const row of await sealedVersions(client, { table, id, column })) {
    const value = Buffer.from(row.sealed.slice(2), 'hex')
    const plain = former.map((key) => unsealed(key, value, row.id)).find((one) => one !== undefined)
    if (plain === undefined) continue
    const sealed = `\\x${seal(present, plain, row.id).toString('hex')}`
    await resealVersion(client, { version: row.version, column, sealed })
  }
}

/** The record of a version, with its sealed columns opened. A seal that the installation cannot open remains as it is. */
function openedVersion(
  columns: readonly SealedVersionColumn[],
  table: string,
  record: Record<string, unknown>,
): Record<string, unknown> {
  const opened = { ...record }
  for (const { id, column, field, key } of columns.filter((sealed) => sealed.table === table)) {
    const value = record[column]
    if (typeof value !== 'string' || !value.startsWith('\\x')) continue
    const text = unsealed(key(), Buffer.from(value.slice(2), 'hex'), String(record[id]))
    if (!text) continue
    delete opened[column]
    opened[field] = text.toString('utf8')
  }
  return opened
}

/** All texts of a JSON value, at any depth. */
function* textsIn(value: unknown): Generator<string> {
  if (typeof value === 'string') yield value
  else if (typeof value === 'object' && value !== null)
    for (const member of Object.values(value)) yield* textsIn(member)
}
const versionsPerPage = 200

/**
 * Reads the versions of all authors. Words of an erased person in a version of somebody else's record are as much under the hold as the record:
 * they remain until it ends, and the receipt counts them as left.
 */
async function readVersions(
  db: Database,
  sealed: readonly SealedVersionColumn[],
  after: string | null,
  visit: (place: ReadPlace) => Promise<void>,
  until: string | null = null,
): Promise<ReadPage> {
  const rows = await versionsAfter(db, { after: after ?? '', last: until, max: versionsPerPage })
  for (const { id, table_name, content } of rows)
    await visit({
      id: `version:${id}`,
      texts: [...textsIn(openedVersion(sealed, table_name, content))],
      itemsOf: async () => [id],
      // A version is deleted as a whole, and a name does not justify it.
      isOfOthers: async () => true,
    })
  return { next: rows.length < versionsPerPage ? null : (rows.at(-1)?.id ?? null), unread: {} }
}

/**
 * Versions that legal holds preserve. The erasure itself can create some, when it changes a held record of another person. The plan watches
 * the versions that a hold covers; residue counts those that the plan does not know, so that the run plans again and the receipt names them.
 */
export const heldVersionDataSource = (db: Database, sealed: readonly SealedVersionColumn[]): DataSource => ({
  name: 'holds.versions',
  store: 'postgresql',
  stage: 'account',
  what: 'versions of records that a legal hold preserves, as the records were before a change',
  purpose: 'preserving evidence: a record under a legal hold can be changed, but not lost (GDPR art. 17(3)(b) and (e))',
  kept: 'until no legal hold covers the record any more',
  tables: ['held_versions'],
  inventory: async ({ agents, account, participants = [] }) =>
    holdingOf(await versionInventory(db, { agents, accounts: account === null ? [] : [account], participants })),
  async plan(scope, tx, now) {
    const rows = await versionsInScope(tx, { ...versionScope(scope), now })
    return { ...plannedOf(rows), watched: rows.flatMap(({ id, hold }) => (hold === null ? [] : [id])).sort() }
  },
  read: (after, visit, until) => readVersions(db, sealed, after, visit, until),
  erase: (_scope, items, tx, options) => deleteVersions(tx, { ids: items, now: options?.now ?? new Date() }),
  residue: (scope, items, now) =>
    sumRemaining(db, async function* (on) {
      yield await countVersions(on, { ...versionScope(scope), known: items, now })
    }),
})

const shape = { part: 'held_versions', bases: ['all'], tables: ['held_versions'] } as const

/** Columns that no exporter of their table exports: places in the object store, and keys that group the agents of an owner. */
const internalColumns: ReadonlySet<string> = new Set(['object_key', 'owner_key', 'network'])
/**
 * A record without data of others. The columns `…_by` name who acted, for example who approved or closed: personal data of somebody else (GDPR
 * art. 15(4)). `own`: the subject, as audit entries and columns name it.
 */
function withoutOthers(record: Record<string, unknown>, own: readonly string[]): Record<string, unknown> {
  const isOthers = (column: string, value: unknown): boolean =>
    column.endsWith('_by') && value !== null && !own.some((id) => id === value)
  return Object.fromEntries(
    Object.entries(record).filter(([column, value]) => !internalColumns.has(column) && !isOthers(column, value)),
  )
}

const Version = z.object({ table: z.string(), record: z.record(z.string(), z.unknown()) })
const exportedLine = (sealed: readonly SealedVersionColumn[], own: readonly string[], line: string): string => {
  const version: unknown = JSON.parse(line)
  const { table, record } = Version.parse(version)
  return JSON.stringify({ ...Object(version), record: withoutOthers(openedVersion(sealed, table, record), own) })
}

/**
 * The versions that the condition selects. The id of the hold and its reason are not part of them: the subject may learn that a hold exists, not
 * why. `own`: the ids of the subject.
 */
async function* versions(
  { db, sealed }: { db: Database; sealed: readonly SealedVersionColumn[] },
  where: string,
  values: readonly unknown[],
  own: readonly string[],
): AsyncGenerator<ExportPage> {
  const pages = recordPages(db, {
    from: 'held_versions v',
    where,
    values,
    at: 'v.at',
    id: 'v.id',
    columns: 'v.id, v.table_name, v.content, v.at',
    weight: 'pg_column_size(v.content)',
    record: jsonObject({ id: 'c.id', table: 'c.table_name', changed_at: utc('c.at'), record: 'c.content' }),
  })
  for await (const page of pages)
    yield {
      ...page,
      lines: page.lines
        .split('\n')
        .map((line) => exportedLine(sealed, own, line))
        .join('\n'),
    }
}
type VersionSource = Parameters<typeof versions>[0]

/** Versions are as private as the most private record: only the agent and its owner get them. */
export const heldVersionExporters = (source: VersionSource): Exporter[] => [
  {
    ...shape,
    pages: (agentId, { until, agents }) =>
      versions(
        source,
        'v.agent_id = $1 AND v.at <= $2 AND v.agent_id = ANY($3::text[])',
        [agentId, until, agents],
        [agentId],
      ),
  },
]

/** What a person's account, messages and claimed participations were before a change. */
export const heldVersionPersonExporters = (source: VersionSource): PersonExporter[] => [
  {
    ...shape,
    pages: (accountId, { until }) =>
      versions(
        source,
        `(v.account_id = $1 OR v.participant_id IN (SELECT p.id FROM participations p WHERE p.account_id = $1)) AND v.at <= $2`,
        [accountId, until],
        [accountId, `user:${accountId}`],
      ),
  },
]

/** For a participant, who may have no account. */
export const heldVersionParticipantExporters = (source: VersionSource): PersonExporter[] => [
  {
    ...shape,
    pages: (participantId, { until }) =>
      versions(source, 'v.participant_id = $1 AND v.at <= $2', [participantId, until], [participantId]),
  },
]

/** Retained records: who created or released a hold. */
export const retainedHolds = (db: Database): RetainedRecord[] => [
  adminChanges(db, {
    name: 'holds.acts',
    what: 'legal holds that you placed or released',
    table: 'legal_holds',
    by: ['created_by', 'released_by'],
    at: 'created_at',
  }),
]
