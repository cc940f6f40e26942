/**
 * What a run's pages say of checkpoints, enough to search again when everything else is forgotten: `<thread>/<message>`, with a third part
 * where what it came from has another id; `<thread>/*` for a thread that goes whole, `<thread>/**` where an admin decided so; `/<message>`
 * for the long-term store, `/@<project>,<project>` for what is found there by words alone. Of a thread that cannot be rewritten: `<thread>/?` until somebody decides, then `<thread>/**` or `<thread>/=`, which
 * retains it; `<thread>/#` while a legal hold covers it; `<thread>/~` stands for what was moved to that step. Each part is encoded as in a URL, so that a thread's own slashes and stars mean nothing.
 */
export interface CheckpointItem {
  /** Null: the long-term store. */
  thread: string | null
  /** Null: all of the thread. */
  message: string | null
  /** The message or document that it came of. */
  source: string | null
  /** Of the long-term store: the projects whose words are looked for there. */
  projects?: string[]
  /** Whoever else has the thread: an admin lets it go whole. */
  isDecided: boolean
  /** Of a thread that cannot be rewritten: nobody decided yet, it is retained, a legal hold covers it, or another step has it. */
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
/** What the items of a thread begin with. */
export const itemsOfThread = (thread: string): string => `${encoded(thread)}/`
export const memoriesItem = (projects: readonly string[]): string => `/@${[...projects].sort().map(encoded).join(',')}`
export const messageItem = (thread: string | null, message: string, source: string | null): string =>
  [thread ?? '', message, ...(source === null || source === message ? [] : [source])].map(encoded).join('/')

export function parseItem(item: string): CheckpointItem {
  const [thread = '', message = '', source] = item.split('/')
  const given = thread === '' ? null : decodeURIComponent(thread)
  const isDecided = message === '**'
  const mark = markOf(message)
  if (isDecided || mark !== null || message === '*')
    return { thread: given, message: null, source: null, isDecided, mark }
  if (given === null && message.startsWith('@')) {
    const projects = message.slice(1).split(',').map(decodeURIComponent)
    return { thread: null, message: null, source: null, projects, isDecided, mark }
  }
  const id = decodeURIComponent(message)
  return { thread: given, message: id, source: source === undefined ? id : decodeURIComponent(source), isDecided, mark }
}
