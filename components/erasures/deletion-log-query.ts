import {
  createLoader,
  createSerializer,
  parseAsString,
  parseAsStringLiteral,
  type QueryValues,
} from '#components/frame/query-parsers.ts'

/** As in the contract, which browsers do not load. */
export const deletionKinds = ['erasure', 'record', 'automatic', 'owner'] as const
const dayPattern = /^\d{4}-\d\d-\d\d$/

/** The filters in the address. Days are UTC days, as in the exported file. */
export const deletionFilterParsers = {
  q: parseAsString,
  kind: parseAsStringLiteral(deletionKinds),
  from: parseAsString,
  to: parseAsString,
}
export type DeletionFilters = QueryValues<typeof deletionFilterParsers>
export const addressOf = createSerializer(deletionFilterParsers)
export const loadDeletionFilters = createLoader(deletionFilterParsers)

/** The query for the API. Ignores what is not a day. */
export const deletionQueryOf = ({ q, kind, from, to }: DeletionFilters): Record<string, string> => ({
  ...(q !== null && q.trim() !== '' && { q: q.trim().slice(0, 200) }),
  ...(kind !== null && { kind }),
  ...(from !== null && dayPattern.test(from) && { from: `${from}T00:00:00Z` }),
  ...(to !== null && dayPattern.test(to) && { to: `${to}T23:59:59.999Z` }),
  limit: '50',
})

/** The parts of a project, the most specific first. The scope of a part also names the parts that contain it. */
const parts = {
  messageId: 'message',
  documentId: 'document',
  conversationId: 'conversation',
  projectId: 'project',
} as const

/** What was deleted, and its id. Jobs have a text instead of an id. */
export function deletedSubject({ subject, kind, ...scope }: Record<string, string>): { kind: string; id: string } {
  if (subject !== undefined) return { kind: kind ?? 'other', id: subject }
  for (const [name, part] of Object.entries(parts)) {
    const id = scope[name]
    if (id !== undefined) return { kind: part, id }
  }
  const [name, id] = Object.entries(scope)[0] ?? ['other', '']
  return { kind: name, id }
}

/** The data sources of counts that have a name of their own. */
const countedIn: Readonly<Record<string, string>> = {
  accountsDeleted: 'accounts',
  agentDocumentsDeleted: 'agents.documents',
  agentStatesDeleted: 'snapshots.state',
  agentsDeleted: 'agents',
  cardsDeleted: 'clades.cards',
  chainReferencesDeleted: 'agents.chain-references',
  contentsDestroyed: 'clades.shares',
  deltasDeleted: 'clades.deltas',
  entriesDeleted: 'grimoire.entries',
  exchangesDeleted: 'llm-log.entries',
  exportsDeleted: 'exports.files',
  heartbeatsDeleted: 'agents.heartbeats',
  performanceCardsDeleted: 'clades.cards',
  savedSearchesDeleted: 'audit.searches',
  sharesDeleted: 'clades.shares',
  sharesRecalled: 'clades.shares',
  snapshotsDeleted: 'snapshots.objects',
  sopVersionsDeleted: 'knowledge.units',
  versionsDeleted: 'holds.versions',
}
const isDataSource = (name: string) => name.includes('.') || ['accounts', 'agents', 'tokens'].includes(name)

/** How many records were deleted, by data source. The log of an erasure also has other counts of the same records. */
export function deletedRecords(results: Readonly<Record<string, number>>): [dataSource: string, count: number][] {
  const counts = Object.entries(results)
  const bySource = counts.filter(([name]) => isDataSource(name))
  return bySource.length > 0 ? bySource : counts.map(([name, count]) => [countedIn[name] ?? name, count])
}
