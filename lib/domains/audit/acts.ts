import { type AuditAct, AuditLogEntry } from './contract.ts'
import type { EntryRow } from './repository.ts'

/** What an entry has that decides to which act it belongs, and which entry describes the act. */
export interface ActEntry {
  at: Date
  /** The transaction of the database that wrote it. A restored database has the same for all its entries. */
  transaction: string
  action: string
  agent_id: string
  resource_type: string
  resource_id: string
  details: Record<string, unknown>
}
/** Entries of one kind in an act: the first of them, and their number. */
export interface ActPart<Entry> {
  entry: Entry
  count: number
}
export interface Act<Entry> {
  /** The part that describes the act comes first, the others in the order of their entries. */
  parts: ActPart<Entry>[]
  /** The number of entries. */
  count: number
  /** How often the same was tried without success, if more than once. */
  tries?: number
}

const system = 'system:'
const isSystem = ({ agent_id }: ActEntry): boolean => agent_id.startsWith(system)

/** Steps of a request that accompany another step in the same transaction. */
const accompanying = ['link_sent', 'status_link', 'evidence', 'comment', 'failed', 'retried', 'running', 'completed']

/** Entries with the same kind have the same sentence, but for the resource. */
const kindOf = ({ agent_id, action, resource_type, details }: ActEntry): string =>
  [agent_id, action, resource_type, details.operation, details.event].join(' ')

/** Entries of one transaction belong to one act if one actor caused them. Jobs carry out many requests at the same time. */
const groupOf = (entry: ActEntry, callers: ReadonlySet<string>): string => {
  if (!isSystem(entry)) return entry.agent_id
  const [caller] = callers
  if (callers.size === 1 && caller !== undefined && entry.details.operation !== undefined) return caller
  return entry.resource_type === 'request' ? `${entry.agent_id} ${entry.resource_id}` : entry.agent_id
}

/** The lower, the better an entry describes the whole act. */
const rankOf = (entry: ActEntry): number => {
  if (isSystem(entry) && entry.resource_type === 'reputation') return 3
  if (typeof entry.details.event === 'string' && accompanying.includes(entry.details.event)) return 1
  return ['upload', 'session'].includes(entry.resource_type) ? 2 : 0
}

/** Acts of the parts of one transaction and time. Parts of the same kind are joined. */
function actsAt<Entry extends ActEntry>(parts: readonly ActPart<Entry>[]): Act<Entry>[] {
  const callers = new Set(parts.flatMap(({ entry }) => (isSystem(entry) ? [] : [entry.agent_id])))
  const acts = new Map<string, Map<string, ActPart<Entry>>>()
  for (const { entry, count } of parts) {
    const name = groupOf(entry, callers)
    const kinds = acts.get(name) ?? new Map<string, ActPart<Entry>>()
    acts.set(name, kinds)
    const kind = kindOf(entry)
    const known = kinds.get(kind)
    if (known) known.count += count
    else kinds.set(kind, { entry, count })
  }
  return [...acts.values()].reverse().map((kinds) => {
    const sorted = [...kinds.values()].sort((one, other) => rankOf(one.entry) - rankOf(other.entry))
    return { parts: sorted, count: sorted.reduce((sum, { count }) => sum + count, 0) }
  })
}

const failures = ['failed', 'copy_failed']
const retries = [...failures, 'running', 'retried']
const eventOf = ({ resource_type, details }: ActEntry): string | undefined =>
  resource_type === 'request' && typeof details.event === 'string' ? details.event : undefined
const isAll = <Entry extends ActEntry>({ parts }: Act<Entry>, events: readonly string[]): boolean =>
  parts.every(({ entry }) => isSystem(entry) && events.includes(eventOf(entry) ?? ''))
const hasFailed = <Entry extends ActEntry>({ parts }: Act<Entry>): boolean =>
  parts.some(({ entry }) => failures.includes(eventOf(entry) ?? ''))

/** Joins the failed attempts at one request, up to its next other act, into the newest of them. */
function foldRetries<Entry extends ActEntry>(acts: readonly Act<Entry>[]): Act<Entry>[] {
  const open = new Map<string, Act<Entry>>()
  const folded: Act<Entry>[] = []
  for (const act of acts) {
    const ids = new Set(
      act.parts.flatMap(({ entry }) => (entry.resource_type === 'request' ? [entry.resource_id] : [])),
    )
    const [id] = ids
    const known = id === undefined ? undefined : open.get(id)
    if (id !== undefined && known && ids.size === 1 && isAll(act, retries)) {
      known.count += act.count
      if (hasFailed(act)) known.tries = (known.tries ?? 1) + 1
      continue
    }
    for (const one of ids) open.delete(one)
    const added = { ...act }
    folded.push(added)
    if (id !== undefined && ids.size === 1 && isAll(act, retries) && hasFailed(act)) open.set(id, added)
  }
  return folded
}

/**
 * Groups entries, newest first, into acts: a transaction writes all its entries with one time. Within it, the oldest entry comes first,
 * because a transaction writes the cause before its consequences.
 */
export function actsOf<Entry extends ActEntry>(parts: readonly ActPart<Entry>[]): Act<Entry>[] {
  const moments = new Map<string, ActPart<Entry>[]>()
  for (const part of parts) {
    const at = `${part.entry.at.getTime()} ${part.entry.transaction}`
    const moment = moments.get(at)
    if (moment) moment.unshift(part)
    else moments.set(at, [part])
  }
  return foldRetries([...moments.values()].flatMap((moment) => actsAt(moment)))
}

/** Joins neighbours whose first part is of the same kind: the same act, repeated. Later acts come first. */
export function joinRepeated<Entry extends ActEntry>(acts: readonly Act<Entry>[]): Act<Entry>[] {
  const joined: Act<Entry>[] = []
  for (const act of acts) {
    const [known, added] = [joined.at(-1)?.parts[0], act.parts[0]]
    const last = joined.at(-1)
    if (last && known && added && kindOf(known.entry) === kindOf(added.entry)) {
      known.count += added.count
      last.count += act.count
    } else joined.push({ ...act, parts: act.parts.map((part) => ({ ...part })) })
  }
  return joined
}

/** The ids in the details that a sentence names: of agents, people, projects and held resources. */
export function namedIds({ details }: Pick<ActEntry, 'details'>): string[] {
  return [details.agent_id, details.target, details.assigned, details.agent].filter(
    (id): id is string => typeof id === 'string' && id.length > 0 && id.length <= 200,
  )
}

/** With `reader`, hides addresses of other actors, such as earlier users of an agent. */
export const entryOf = (row: EntryRow, reader?: string): AuditLogEntry =>
  AuditLogEntry.parse({
    id: row.id,
    action: row.action,
    agentId: row.agent_id,
    resourceType: row.resource_type,
    resourceId: row.resource_id,
    timestamp: row.at.toISOString(),
    ip: reader === undefined || reader === row.agent_id ? row.ip : '',
    details: row.details,
  })

/** An act with current names. */
export const actView = ({ parts, count, tries = 1 }: Act<EntryRow>, named: ReadonlyMap<string, string>): AuditAct => ({
  parts: parts.map(({ entry, count: n }) => ({
    entry: {
      ...entryOf(entry),
      actorName: named.get(entry.agent_id) ?? null,
      resourceName: named.get(entry.resource_id) ?? null,
    },
    count: n,
  })),
  count,
  tries,
  names: Object.fromEntries(
    parts
      .flatMap(({ entry }) => namedIds(entry))
      .flatMap((id) => {
        const name = named.get(id)
        return name === undefined ? [] : [[id, name]]
      }),
  ),
})
