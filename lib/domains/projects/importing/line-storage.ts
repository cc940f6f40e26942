import { createHash } from 'node:crypto'
import { makeConversation } from '#lib/domains/projects/conversations/conversation-storage.ts'
import { makeMessage, reportedPointersOf } from '#lib/domains/projects/conversations/message-storage.ts'
import { type DocumentPorts, reportedPointersOfDocument } from '#lib/domains/projects/documents/storage.ts'
import { claimPlaces } from '#lib/domains/projects/provenance/claims.ts'
import { confine, type ReportedPointer, store } from '#lib/domains/projects/provenance/pointers.ts'
import type { Context, Transaction } from '#lib/kernel/context.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { asProblem } from '#lib/stores/postgres/problems.ts'
import { participantFor, participantNamed } from '../participants/authors.ts'
import { normalExternalId } from '../participants/rules.ts'
import type { SeenProject } from '../repository.ts'
import { knownStoredId, projectIdInUse, storedId } from '../stored-ids.ts'
import { changeLineSavepoint } from './repository.ts'
import type { ConversationLine, DocumentLine, ImportLine, MessageLine, ProjectLine } from './rules.ts'

export type LineStoragePorts = DocumentPorts

export type Stored = 'conversations' | 'participants' | 'messages' | 'documents'
export interface LineOutcome {
  /** What was stored; null if the line was skipped. */
  stored: Stored | null
  /** Id of the stored record. */
  id?: string
}
/** A line that is stored in a batch. */
export type StoredLine = Exclude<ImportLine, DocumentLine | ProjectLine>

export interface Work {
  tx: Transaction
  actor: Context['actor']
  now: Date
  project: SeenProject
}

/** Whether the project already has this conversation with the same content. @throws {Problem} `id_in_use` for other content, `fenced` */
async function isStoredConversation({ tx, project }: Work, line: ConversationLine) {
  const { title, threads = [], region } = line
  const id = await knownStoredId(tx, 'conversation', project.id, line.id)
  const found = id === undefined ? null : await tx.conversation.findUnique({ where: { id } })
  if (!found) return false
  if (found.erasingSince) throw new Problem('fenced')
  const isSame =
    found.title === title &&
    threads.every((thread) => found.threads.includes(thread)) &&
    (region === undefined || found.region === region)
  if (!isSame) throw projectIdInUse()
  return true
}

/** The `external_id` of an author who is a participant; undefined for other authors. */
const externalIdOf = async (tx: Transaction, { authorKind, authorId }: { authorKind: string; authorId: string }) =>
  authorKind === 'participant'
    ? normalExternalId((await tx.projectParticipant.findUnique({ where: { id: authorId } }))?.externalId ?? '')
    : undefined

/** The id of the message if it is already stored identically. @throws {Problem} `id_in_use`, `fenced` */
async function storedMessage({ tx, actor, project }: Work, line: MessageLine): Promise<string | undefined> {
  const id = await knownStoredId(tx, 'message', project.id, line.id)
  const record = id === undefined ? null : await tx.message.findUnique({ where: { id } })
  if (!record) return undefined
  if (record.erasingSince) throw new Problem('fenced')
  const author = await externalIdOf(tx, record)
  const isSame =
    record.conversationId === line.conversation_id &&
    record.role === line.role &&
    record.content === line.content &&
    (line.author
      ? author === line.author.external_id
      : record.authorKind === 'agent' && record.authorId === actor.id) &&
    (line.created_at === undefined || record.createdAt.getTime() === line.created_at.getTime())
  if (!isSame) throw projectIdInUse()
  return record.id
}

/** The id of the document if it is already stored identically. @throws {Problem} `id_in_use`, `fenced` */
async function storedDocument(
  { tx, actor, project }: Work,
  line: DocumentLine,
  bytes: Uint8Array,
): Promise<string | undefined> {
  const id = await knownStoredId(tx, 'document', project.id, line.id)
  const record = id === undefined ? null : await tx.document.findUnique({ where: { id } })
  if (!record) return undefined
  if (record.erasingSince) throw new Problem('fenced')
  const madeFrom = line.made_from === undefined ? null : await storedId(tx, 'message', project.id, line.made_from)
  const author = await externalIdOf(tx, record)
  const isSame =
    record.name === line.name &&
    record.kind === line.kind &&
    record.mediaType === line.media_type &&
    record.madeFrom === madeFrom &&
    createHash('sha256').update(bytes).digest().equals(record.sha256) &&
    (line.author
      ? author === line.author.external_id
      : record.authorKind === 'agent' && record.authorId === actor.id) &&
    (line.created_at === undefined || record.createdAt.getTime() === line.created_at.getTime())
  if (!isSame) throw projectIdInUse()
  return record.id
}

/** Adds the pointers of a line to a record that is already stored. */
async function addPointers(
  ports: LineStoragePorts,
  { tx, actor, now, project }: Work,
  reported: readonly ReportedPointer[],
) {
  if (reported.length === 0) return
  await confine(tx, actor, project, reported, ports)
  await claimPlaces(ports, tx, actor, project.id, reported)
  await store(tx, reported, { projectId: project.id, toldBy: actor.id, now })
}

/** Stores a line, or skips it if it is already stored identically. @throws {Problem} those of the record that it describes */
export async function storeLine(ports: LineStoragePorts, work: Work, line: StoredLine): Promise<LineOutcome> {
  const { tx, now, project } = work
  if (line.type === 'participant') {
    const { type: _, ...author } = line
    const before = await participantNamed(tx, { project: project.id, externalId: author.external_id })
    const id = await participantFor(ports, work, project.id, author)
    return before ? { stored: null } : { stored: 'participants', id }
  }
  if (line.created_at !== undefined && line.created_at > now) throw invalid(['created_at'], 'is in the future')
  if (line.type === 'conversation') {
    if (await isStoredConversation(work, line)) return { stored: null }
    const { created_at: at, ...given } = line
    return { stored: 'conversations', id: await makeConversation(ports, work, project.id, { ...given, at }) }
  }
  const conversation = await storedId(tx, 'conversation', project.id, line.conversation_id)
  const message = { ...line, conversation_id: conversation }
  const known = await storedMessage(work, message)
  if (known !== undefined) {
    await addPointers(ports, work, reportedPointersOf(known, line))
    return { stored: null }
  }
  const { id } = await makeMessage(ports, work, project, conversation, line)
  return { stored: 'messages', id }
}

/** Whether the document is already stored identically. Then stores pointers that the line adds. @throws {Problem} `id_in_use`, `fenced` */
export async function isStoredDocument(
  ports: LineStoragePorts,
  work: Work,
  line: DocumentLine,
  bytes: Uint8Array,
): Promise<boolean> {
  const id = await storedDocument(work, line, bytes)
  if (id !== undefined) await addPointers(ports, work, reportedPointersOfDocument(id, line))
  return id !== undefined
}

/** Whether a problem concerns only this line. Any other error ends the import. */
export const isOfLine = (error: unknown): error is Problem => Problem.is(error) && error.status < 500

/**
 * Stores a line inside a savepoint: completely or not at all, without affecting earlier lines. Retries once after `id_in_use`, because a
 * concurrent request may have stored the same line.
 */
export async function storedWhole<T>(tx: Transaction, run: () => Promise<T>): Promise<T | Problem> {
  for (let tries = 1; ; tries++) {
    await changeLineSavepoint(tx, {}, 'SAVEPOINT')
    try {
      const outcome = await run()
      await changeLineSavepoint(tx, {}, 'RELEASE SAVEPOINT')
      return outcome
    } catch (error) {
      const problem = asProblem(error)
      if (!isOfLine(problem)) throw error
      await changeLineSavepoint(tx, {}, 'ROLLBACK TO SAVEPOINT')
      if (problem.code !== 'id_in_use' || tries === 2) return problem
    }
  }
}
