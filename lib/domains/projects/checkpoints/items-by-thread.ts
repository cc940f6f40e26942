import type { ProjectPart } from '#lib/kernel/erasure-scope.ts'
import { shownId } from '#lib/kernel/scoped-ids.ts'
import { parseItem } from './items.ts'

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

/** What to search for in the long-term store: the projects of the erased words, and the ids that identify items of these projects. */
export function memoriesSought(
  items: readonly string[],
  part: ProjectPart | undefined,
): { projects: string[]; ids: Set<string> } {
  const parsed = items.map(parseItem)
  const projects = [...new Set(parsed.flatMap((one) => one.projects ?? []))]
  const conversation = part?.conversation ?? null
  const ids = new Set([
    ...(conversation === null ? [] : [conversation, shownId(conversation)]),
    ...parsed.flatMap(({ thread, message, source }) => [thread, message, source].filter((one) => one !== null)),
  ])
  return { projects, ids }
}
