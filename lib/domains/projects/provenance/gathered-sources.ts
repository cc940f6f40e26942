import { memoize } from '#lib/kernel/concurrency.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import { identifiesAPerson } from '../graph/name-rules.ts'
import { type AuthoredTable, coveredRows, scopePart, scopeSubject } from '../legal-holds.ts'
import { wholeConversations, wholeProjects } from '../rows/repository.ts'
import type { fileReader } from './file-texts.ts'
import { isBorneByParticipant } from './participant-names.ts'
import { heldSources, idsAtOnce, sourceIdsAfter, sourcesById } from './repository.ts'
import type { FileWords, PersonNames, Source, Sources, WholeContainer } from './sources.ts'

/** Maximum sources per batch, maximum bytes of their texts (a single larger source is allowed). */
const batchSize = 500
const batchBytes = 4 * 1024 * 1024

/** Divides sources into batches within the limits. A batch always has at least one source. */
function* together(rows: readonly { id: string; weight: number }[]): Generator<string[]> {
  let ids: string[] = []
  let bytes = 0
  for (const { id, weight } of rows) {
    if (ids.length > 0 && (ids.length === batchSize || bytes + weight > batchBytes)) {
      yield ids
      ids = []
      bytes = 0
    }
    ids.push(id)
    bytes += weight
  }
  if (ids.length > 0) yield ids
}

type SourceRow = Awaited<ReturnType<typeof sourcesById>>[number]
const sourceOf = (kind: Source['kind'], row: SourceRow, files: FileWords[]): Source => ({
  kind,
  id: row.id,
  project: row.project,
  group: row.group,
  conversation: row.conversation,
  threads: row.threads ?? [],
  createdAt: row.created_at,
  ordinal: row.ordinal,
  author: { kind: row.author_kind, id: row.author_id, name: row.author_name },
  texts: row.texts,
  objects: row.objects,
  files,
  pointers: row.pointers,
})

type SourceId = Awaited<ReturnType<typeof sourceIdsAfter>>[number]
/** The ids of the sources in a table that a scope covers, page by page. */
async function* idPages(
  table: AuthoredTable,
  scope: ErasureScope,
  tx: Transaction,
  now: Date,
): AsyncGenerator<SourceId[]> {
  const covered = coveredRows(scope, table)
  if (!covered) return
  for (let after = ''; ; ) {
    const next = await sourceIdsAfter(tx, { ...covered.values, now, after }, covered.which)
    yield next
    const last = next.at(-1)
    if (last === undefined || next.length < idsAtOnce) return
    after = last.id
  }
}

type TextsOfFiles = (project: string, files: SourceRow['files']) => Promise<FileWords[]>
async function* batches(
  table: AuthoredTable,
  scope: ErasureScope,
  { tx, now, textsOf }: { tx: Transaction; now: Date; textsOf: TextsOfFiles },
): AsyncGenerator<Source[]> {
  for await (const page of idPages(table, scope, tx, now))
    for (const ids of together(page)) {
      const sources: Source[] = []
      for (const row of await sourcesById(tx, { ids }, table))
        sources.push(
          sourceOf(table === 'messages' ? 'message' : 'document', row, await textsOf(row.project, row.files)),
        )
      yield sources
    }
}

interface NamesDeps {
  /** Names and email addresses of an account; empty after its erasure. */
  namesOf(tx: Transaction, accountId: string): Promise<string[]>
  isBorneByOthers(tx: Transaction, name: string, accountId: string | null): Promise<boolean>
}
const noNames: NamesDeps = { namesOf: async () => [], isBorneByOthers: async () => false }

async function idsOf(scope: ErasureScope, tx: Transaction, now: Date): Promise<Set<string>> {
  const found = new Set<string>()
  for (const table of ['messages', 'documents'] as const)
    for await (const page of idPages(table, scope, tx, now)) for (const { id } of page) found.add(id)
  return found
}

/** The sources that a scope covers, read from rows while they exist: messages, then documents, ordered by id. */
export const gatheredSources = (
  { namesOf, isBorneByOthers }: NamesDeps = noNames,
  reader: ReturnType<typeof fileReader> = () => async () => [],
): Sources => ({
  async *of(scope, tx, now) {
    const textsOf = reader(
      tx,
      now,
      memoize(() => idsOf(scope, tx, now)),
    )
    for (const table of ['messages', 'documents'] as const) yield* batches(table, scope, { tx, now, textsOf })
  },

  ids: idsOf,

  async whole(scope, tx, now): Promise<WholeContainer[]> {
    const projects = await wholeProjects(scope, tx, now)
    const wholes = projects.map(({ id, ...project }): WholeContainer => ({ project: id, ...project }))
    if (scopePart(scope)?.kind !== 'conversation' && !scopeSubject(scope)) return wholes
    const inWhole = new Set(projects.map(({ id }) => id))
    const rows = await wholeConversations(scope, tx, now)
    const free = rows.filter(({ hold, project }) => hold === null && !inWhole.has(project))
    for (const [project, conversations] of Map.groupBy(free, (row) => row.project))
      wholes.push({
        project,
        group: null,
        conversations: conversations.map(({ id }) => id),
        threads: conversations.flatMap(({ threads }) => threads),
      })
    return wholes
  },

  async names(scope, tx, projects) {
    const { account = null, participants = [] } = scopeSubject(scope) ?? {}
    const ofAccount = account === null ? [] : await namesOf(tx, account)
    const names = new Set(ofAccount)
    const stored = await tx.projectParticipant.findMany({
      where: { id: { in: [...participants] } },
      select: { name: true, email: true, emailConfirmed: true },
    })
    for (const { name, email } of stored) for (const one of [name, email]) names.add(one ?? '')
    names.delete('')
    const unconfirmed = new Set(stored.flatMap(({ email, emailConfirmed }) => (emailConfirmed ? [] : (email ?? []))))
    for (const { email, emailConfirmed } of stored) if (emailConfirmed && email !== null) unconfirmed.delete(email)
    // The address of the account is the person's, whatever a participation says.
    for (const name of ofAccount) unconfirmed.delete(name)
    /** A name of two people identifies neither. An address has one owner, whom an address that nobody confirmed may not be of. */
    async function isShared(name: string): Promise<boolean> {
      if (name.includes('@')) return unconfirmed.has(name)
      if (await isBorneByOthers(tx, name, account)) return true
      return isBorneByParticipant(tx, name, { projectId: { in: [...projects] }, id: { notIn: [...participants] } })
    }
    const found: PersonNames = { certain: [], uncertain: [] }
    for (const name of names)
      found[identifiesAPerson(name) && !(await isShared(name)) ? 'certain' : 'uncertain'].push(name)
    return found
  },

  async held(scope, tx, now) {
    const held: Record<string, number> = {}
    for (const table of ['messages', 'documents'] as const) {
      const covered = coveredRows(scope, table)
      if (!covered) continue
      for (const { hold, n } of await heldSources(tx, { ...covered.values, now }, covered.which))
        held[hold] = (held[hold] ?? 0) + n
    }
    return held
  },
})
