import type { ProjectPart } from '#lib/kernel/erasure-scope.ts'
import { shownId } from '#lib/kernel/scoped-ids.ts'

/**
 * Items of a run's pages for checkpoints. They contain enough to search again after all other data is deleted:
 * - `<thread>/<message>`, with a third part if the source has another id.
 * - `<thread>/*` for a thread to delete completely; `<thread>/**` if somebody decided this.
 * - `/<message>` for the long-term store; `/@<organization>,<project>,<project>` for items found there only by words. With a third part, the time since
 *   which threads are searched for the words as well. With a fourth part, the only item of the store to search.
 * - For a thread that cannot be rewritten: `<thread>/?` while undecided, then `<thread>/**` or `<thread>/=` (retained); `<thread>/#` under
 *   legal hold; `<thread>/~` in the step from which it was moved.
 *
 * Each part is URL-encoded, so slashes and asterisks in a thread's name have no meaning.
 */
interface CheckpointItem {
  /** Null: the long-term store. */
  thread: string | null
  /** Null: the whole thread. */
  message: string | null
  /** The message or document from which it was derived. */
  source: string | null
  /** For the long-term store: the projects whose words to search for, and the organizations that they had when the erasure was planned. */
  projects?: string[]
  organisations?: string[]
  /** Threads that were written since this time are searched for the words. */
  since?: Date
  /** The only item of the long-term store to search, by its label. */
  memory?: string
  /** Delete the whole thread even if others share it. */
  isDecided: boolean
  /** State of a thread that cannot be rewritten: undecided, retained, under legal hold, or moved to another step. */
  mark: 'undecided' | 'retained' | 'held' | 'moved' | null
}
const encoded = (text: string): string => encodeURIComponent(text).replaceAll('*', '%2A').replaceAll('~', '%7E')

export const wholeThread = (thread: string): string => `${encoded(thread)}/*`
export const decidedThread = (thread: string): string => `${encoded(thread)}/**`
export const undecidedThread = (thread: string): string => `${encoded(thread)}/?`
export const retainedThread = (thread: string): string => `${encoded(thread)}/=`
export const heldThread = (thread: string): string => `${encoded(thread)}/#`
export const movedThread = (thread: string): string => `${encoded(thread)}/~`
const marks = new Map([
  ['?', 'undecided'],
  ['=', 'retained'],
  ['#', 'held'],
  ['~', 'moved'],
] as const)
const markOf = (text: string): CheckpointItem['mark'] => marks.entries().find(([sign]) => sign === text)?.[1] ?? null
/** Prefix of the items of a thread. */
export const itemsOfThread = (thread: string): string => `${encoded(thread)}/`
export const memoriesItem = (projects: readonly string[], since?: Date): string =>
  `/@${[...projects].sort().map(encoded).join(',')}${since ? `/${since.getTime()}` : ''}`
/** One item of the long-term store, by its label. */
export const memoryItem = (projects: readonly string[], label: string): string =>
  `${memoriesItem(projects)}//${encoded(label)}`
/** Stands for all messages of a thread in an item that is only searched for words. No message has this id. */
export const anyMessage = 'complete-reading'
export const messageItem = (thread: string | null, message: string, source: string | null): string =>
  [thread ?? '', message, ...(source === null || source === message ? [] : [source])].map(encoded).join('/')

export function parseItem(item: string): CheckpointItem {
  const [thread = '', message = '', source, label] = item.split('/')
  const given = thread === '' ? null : decodeURIComponent(thread)
  const isDecided = message === '**'
  const mark = markOf(message)
  if (isDecided || mark !== null || message === '*')
    return { thread: given, message: null, source: null, isDecided, mark }
  if (given === null && message.startsWith('@')) {
    const ids = message.slice(1).split(',').map(decodeURIComponent)
    const isOrganisation = (id: string) => id.startsWith('org_')
    const [projects, organisations] = [ids.filter((id) => !isOrganisation(id)), ids.filter(isOrganisation)]
    const since = source === undefined || source === '' ? {} : { since: new Date(Number(source)) }
    const memory = label === undefined ? {} : { memory: decodeURIComponent(label) }
    return { thread: null, message: null, source: null, projects, organisations, isDecided, mark, ...since, ...memory }
  }
  const id = decodeURIComponent(message)
  return { thread: given, message: id, source: source === undefined ? id : decodeURIComponent(source), isDecided, mark }
}

/** What to erase in one thread. */
export interface ItemsOfThread {
  isWhole: boolean
  /** Delete the whole thread even if others share it. */
  isDecided: boolean
  ids: Set<string>
  sources: Set<string>
}
/** Threads that were moved to the step that waits for a decision. */
export const movedOf = (items: readonly string[]): Set<string> =>
  new Set(items.map(parseItem).flatMap(({ thread, mark }) => (thread !== null && mark === 'moved' ? [thread] : [])))
/** Items grouped by thread and sorted; null is the long-term store. */
export function byThread(items: readonly string[]): [thread: string | null, ItemsOfThread][] {
  const threads = new Map<string | null, ItemsOfThread>()
  const moved = movedOf(items)
  for (const { thread, message, source, isDecided } of items.map(parseItem)) {
    if (thread !== null && moved.has(thread)) continue
    const known = threads.get(thread) ?? { isWhole: false, isDecided: false, ids: new Set(), sources: new Set() }
    known.isDecided ||= isDecided
    threads.set(thread, known)
    if (message === null) known.isWhole = true
    else known.ids.add(message)
    if (source !== null) known.ids.add(source)
    if (source !== null) known.sources.add(source)
  }
  return [...threads].sort(([a], [b]) => ((a ?? '') < (b ?? '') ? -1 : 1))
}

/** Threads to delete completely unless remaining records share them. */
export const mayBeShared = (threads: Readonly<ReturnType<typeof byThread>>): string[] =>
  threads.flatMap(([thread, { isWhole, isDecided }]) => (thread !== null && isWhole && !isDecided ? [thread] : []))

/** What to search for in the long-term store. */
export interface SoughtByItems {
  /** The projects of the erased words. */
  projects: string[]
  organisations: string[]
  /** The ids that identify items of these projects. */
  ids: Set<string>
  /** The labels of the only items to search. */
  only?: ReadonlySet<string>
}
export function memoriesSought(items: readonly string[], part: ProjectPart | undefined): SoughtByItems {
  const parsed = items.map(parseItem)
  const stores = parsed.filter((one) => one.projects !== undefined)
  const labels = stores.flatMap((one) => one.memory ?? [])
  const projects = [...new Set(parsed.flatMap((one) => one.projects ?? []))]
  const organisations = [...new Set(parsed.flatMap((one) => one.organisations ?? []))]
  const conversation = part?.conversation ?? null
  const ids = new Set([
    ...(conversation === null ? [] : [conversation, shownId(conversation)]),
    ...parsed.flatMap(({ thread, message, source }) => [thread, message, source].filter((one) => one !== null)),
  ])
  return {
    projects,
    organisations,
    ids,
    ...(labels.length > 0 && labels.length === stores.length && { only: new Set(labels) }),
  }
}
