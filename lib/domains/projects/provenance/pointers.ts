import type { Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import { type Issue, Problem } from '#lib/kernel/problem.ts'
import { shownId } from '#lib/kernel/scoped-ids.ts'
import { isInKeySpace, keySpaceOf } from '../key-space.ts'
import { isReserved } from '../objects/rules.ts'
import type { ProjectPorts } from '../ports.ts'
import type { SeenProject } from '../repository.ts'
import type { ProvenancePointer } from './contract.ts'
import {
  conversationsOfMessages,
  foreignPointers,
  refsOfOtherProjects,
  remainingSourcesOf,
  remainingTextsNaming,
  storePointers,
} from './repository.ts'

export interface ReportedPointer extends ProvenancePointer {
  source: string
  kind: 'message' | 'document'
  /** Path of the entry in the request body. */
  path: Issue['path']
}

/** LangGraph may have stored the message under its shown id, so this pointer is always added. */
export const defaultsOf = (messageId: string): ReportedPointer[] => [
  { store: 'checkpoints', ref: shownId(messageId), source: messageId, kind: 'message', path: [] },
]
export const objectPointer = (source: string, kind: ReportedPointer['kind'], key: string): ReportedPointer => ({
  store: 'objects',
  ref: key,
  source,
  kind,
  path: [],
})

/**
 * Whether a key provably belongs to the source: it contains a generated id (of the project, its conversation or the source itself). Stores
 * may be shared with others, so the first to name a key is not necessarily its owner.
 */
export const isTied = (ref: string, ids: readonly string[]): boolean => ids.some((id) => ref.includes(id))
const ownForm = /^(?:prj|conv|msg|doc)_[0-9A-Za-z]{22}$/
const begins = { message: 'msg_', document: 'doc_' } as const
/** Generated ids that tie a thread to a conversation. Ids that a client chose do not count. */
export const conversationTies = (projectId: string, conversation: string | undefined): string[] => [
  projectId,
  ...(conversation !== undefined && ownForm.test(conversation) && conversation.startsWith('conv_')
    ? [conversation]
    : []),
]
/** Generated ids that tie a key to its source. */
const tiesOf = (projectId: string, { source, kind }: ReportedPointer, conversation: string | undefined): string[] => [
  ...conversationTies(projectId, conversation),
  ...(ownForm.test(source) && source.startsWith(begins[kind]) ? [source] : []),
]

const objectsOf = (projectId: string, { kind, source }: ReportedPointer): string =>
  `projects/${projectId}/${kind}s/${shownId(source)}`

export type ConfiningPorts = Pick<ProjectPorts, 'pointerPrefixes' | 'foreignEpisodes'>

/** The numbers of the pointers whose episode belongs to another graph group than the pointer says. */
async function inOtherGroups(
  tx: Transaction,
  { groupId }: SeenProject,
  reported: readonly ReportedPointer[],
  { foreignEpisodes }: ConfiningPorts,
): Promise<ReadonlySet<number>> {
  const byGroup = Map.groupBy(
    [...reported.entries()].filter(([, { store }]) => store === 'graph'),
    ([, { place }]) => place || groupId,
  )
  const found = new Set<number>()
  for (const [group, pointers] of byGroup) {
    const foreign = new Set(await foreignEpisodes(tx, group, [...new Set(pointers.map(([, { ref }]) => ref))]))
    for (const [n, { ref }] of pointers) if (foreign.has(ref)) found.add(n)
  }
  return found
}

const projectIds = /(?<![0-9A-Za-z])prj_[0-9A-Za-z]{22}(?![0-9A-Za-z])/g

/** Of keys with a common prefix (KP_POINTER_PREFIXES), those that the project may name without a generated id. */
async function claimedKeys(
  tx: Transaction,
  { id }: SeenProject,
  { reported, prefixes }: { reported: readonly ReportedPointer[]; prefixes: readonly string[] },
): Promise<ReadonlySet<string>> {
  const keys = reported.flatMap(({ ref }) => (prefixes.some((prefix) => ref.startsWith(prefix)) ? [ref] : []))
  if (keys.length === 0) return new Set()
  const space = await keySpaceOf(tx, prefixes, { projects: [id] })
  const namesOnlyOthers = (key: string): boolean => {
    const named: readonly string[] = key.match(projectIds) ?? []
    return named.length > 0 && !named.includes(id)
  }
  return new Set(keys.filter((key) => isInKeySpace(space, key) && !namesOnlyOthers(key)))
}

/**
 * Rejects pointers outside the project. Data that a pointer names is erased with its source, so it must not belong to another project, nor
 * be an object of ours that belongs to another source.
 * @throws {Problem} `invalid` with every rejected entry
 */
export async function confine(
  tx: Transaction,
  project: SeenProject,
  reported: readonly ReportedPointer[],
  ports: ConfiningPorts,
): Promise<void> {
  const { id } = project
  if (reported.length === 0) return
  const rows = await foreignPointers(tx, {
    project: id,
    numbers: reported.map((_, n) => n),
    stores: reported.map(({ store }) => store),
    refs: reported.map(({ ref }) => ref),
    places: reported.map(({ place = '' }) => place),
  })
  const others = new Set(rows.map(({ n }) => n))
  const otherGroups = await inOtherGroups(tx, project, reported, ports)
  const messages = reported.flatMap(({ kind, source }) => (kind === 'message' ? [source] : []))
  const containing = await conversationsOfMessages(tx, { project: id, messages })
  const conversations = new Map(containing.map(({ id: source, conversation }) => [source, conversation]))
  const claimed = await claimedKeys(tx, project, { reported, prefixes: ports.pointerPrefixes })
  const issues = reported.flatMap((entry, n): Issue[] => {
    const own = objectsOf(id, entry)
    const isOurs = entry.store === 'objects' && isReserved(entry.ref)
    const isOwn = entry.ref === own || entry.ref.startsWith(`${own}/`)
    if (others.has(n))
      return [
        {
          path: [...entry.path, entry.store === 'objects' || entry.store === 'cache' ? 'ref' : 'place'],
          message: 'belongs to another project',
        },
      ]
    const path = [...entry.path, 'ref']
    if (otherGroups.has(n))
      return [
        {
          path,
          message: 'is an episode of another graph group. If that group belongs to this project, set it as place',
        },
      ]
    if (isOurs) return isOwn ? [] : [{ path, message: 'is an object of another message or document' }]
    if (entry.store !== 'objects' && entry.store !== 'cache') return []
    const conversation = entry.kind === 'message' ? conversations.get(entry.source) : undefined
    return isTied(entry.ref, tiesOf(id, entry, conversation)) || claimed.has(entry.ref)
      ? []
      : [
          {
            path,
            message: `does not belong to this project. A key must contain a generated id of its project, conversation, message or document, or begin with a prefix of KP_POINTER_PREFIXES and contain the organization’s id (${project.organisationId}) or a prefix that an admin assigned`,
          },
        ]
  })
  if (issues.length > 0)
    throw new Problem('invalid', {
      detail: 'Some entries point at data outside this project. No entry was stored.',
      issues,
    })
}

/** Stores pointers. Ended facts of an existing pointer are merged. Returns the number of new pointers. */
export async function store(
  tx: Transaction,
  reported: readonly ReportedPointer[],
  { projectId, reportedBy, now }: { projectId: string; reportedBy: string; now: Date },
): Promise<number> {
  // Merge equal pointers with their facts, because one statement cannot update a row twice.
  const once = new Map<string, ReportedPointer & { place: string; ended: string[] }>()
  for (const { place = '', ended = [], ...entry } of reported) {
    const key = JSON.stringify([entry.source, entry.store, place, entry.ref])
    once.set(key, { ...entry, place, ended: [...new Set([...(once.get(key)?.ended ?? []), ...ended])] })
  }
  const rows = [...once.values()].map((entry) => ({ ...entry, id: newId('prov') }))
  const made = await storePointers(tx, { rows, project: projectId, reporter: reportedBy, now })
  return made.filter(({ is_new }) => is_new).length
}

/**
 * Of these references, those that remaining messages or documents also name. In checkpoints, references are message ids, and a remaining
 * source may also have the id itself; such ids are only unique within `project`. Shared data is deleted with its last source.
 */
export async function othersOf(
  tx: Transaction,
  store: 'cache' | 'checkpoints' | 'objects',
  refs: readonly string[],
  erasedSourceIds: ReadonlySet<string>,
  now: Date,
  project: string | null = null,
): Promise<Set<string>> {
  if (refs.length === 0) return new Set()
  const rows = await remainingSourcesOf(tx, { store, refs, now, project })
  return new Set(rows.filter(({ source }) => !erasedSourceIds.has(source)).map(({ ref }) => ref))
}

/** The texts of remaining sources whose pointers name these keys, by key. */
export async function textsNaming(
  tx: Transaction,
  store: 'cache' | 'objects',
  refs: readonly string[],
  erasedSourceIds: ReadonlySet<string>,
  now: Date,
): Promise<Map<string, string[]>> {
  const found = new Map<string, string[]>()
  if (refs.length === 0) return found
  const rows = await remainingTextsNaming(tx, { store, refs, now, erased: [...erasedSourceIds] })
  for (const { ref, texts } of rows) found.set(ref, [...(found.get(ref) ?? []), ...texts])
  return found
}

/** The keys that only pointers of other projects name. */
export async function foreignRefs(
  tx: Transaction,
  store: 'cache' | 'objects',
  refs: readonly string[],
  projects: readonly string[],
): Promise<Set<string>> {
  if (refs.length === 0) return new Set()
  const rows = await refsOfOtherProjects(tx, { store, refs, projects })
  return new Set(rows.map(({ ref }) => ref))
}
