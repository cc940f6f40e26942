import type { DataSource, Erased } from '#lib/kernel/data-source.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import type { Database } from '#lib/stores/postgres/database.ts'

export interface SideEntry {
  message: string
  conversation: string
  project: string
  author: string
}
/** A store outside the database, with other writers. */
export interface SideStore {
  entries: Map<string, SideEntry>
  /** Called before an operation, to throw or wait. */
  before?: ((what: 'erase' | 'residue') => void) | undefined
  /** Delays an operation, like a slow store. */
  slow?: ((what: 'plan' | 'explain' | 'erase', scope: ErasureScope) => Promise<void>) | undefined
  /** The results of erased pages by key. */
  remembered: Map<string, Erased>
  forgot: string[]
}
export const sideStore = (): SideStore => ({ entries: new Map(), remembered: new Map(), forgot: [] })

const covers = (scope: ErasureScope, entry: SideEntry): boolean => {
  if ('part' in scope) return [entry.message, entry.conversation, entry.project].includes(scope.part.id)
  return 'subject' in scope && (entry.author === scope.subject.account || scope.subject.agents.includes(entry.author))
}

const about = (message: string): string => `about:${message}`
/** Entries with these ids, and entries about these watched messages. */
const named = (side: SideStore, items: readonly string[]): string[] =>
  [...side.entries].flatMap(([id, { message }]) => (items.includes(id) || items.includes(about(message)) ? [id] : []))

/** Its data source: erases outside the transaction, remembers the result of each page, and searches only by ids. */
export const sideStoreDataSource =
  (side: SideStore) =>
  (_db: Database): DataSource => ({
    name: 'side.entries',
    store: 'side',
    isShared: true,
    pageSize: 2,
    stage: 'derived',
    what: 'entries that were made of messages',
    purpose: 'to remember',
    kept: 'as long as the message',
    tables: [],
    inventory: async () => ({ count: 0, since: null, until: null }),
    async plan(scope) {
      await side.slow?.('plan', scope)
      return {
        items: [...side.entries].flatMap(([id, entry]) => (covers(scope, entry) ? [id] : [])).sort(),
        watched: 'part' in scope && scope.part.kind === 'message' ? [about(scope.part.id)] : [],
        held: {},
      }
    },
    async explain(scope) {
      await side.slow?.('explain', scope)
      const verdicts = [...side.entries].flatMap(([id, entry]) =>
        covers(scope, entry)
          ? [
              {
                store: 'side',
                kind: 'entry',
                id,
                name: null,
                verdict: 'deleted' as const,
                reason: 'source',
                evidence: [`message:${entry.message}`],
                found: 'pointer',
              },
            ]
          : [],
      )
      return { verdicts, isPartial: false }
    },
    async erase(scope, items, _tx, options) {
      await side.slow?.('erase', scope)
      side.before?.('erase')
      const known = side.remembered.get(options?.key ?? '')
      if (known) return known
      const deleted = named(side, items).filter((id) => side.entries.delete(id))
      const erased: Erased = {
        count: deleted.length,
        results: { entriesDeleted: deleted.length },
        mentions: deleted.map((id) => ({ store: 'side', kind: 'entry', id, field: 'text', isRedacted: false })),
      }
      if (options) side.remembered.set(options.key, erased)
      return erased
    },
    async residue(scope, items) {
      side.before?.('residue')
      const known = named(side, items)
      return [...side.entries].filter(([id, entry]) => known.includes(id) || covers(scope, entry)).length
    },
    async forget(runId) {
      side.forgot.push(runId)
      for (const key of side.remembered.keys()) if (key.startsWith(`${runId}:`)) side.remembered.delete(key)
    },
  })
