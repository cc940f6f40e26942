import { createLoader, parseAsStringLiteral, type QueryValues } from '#components/frame/query-parsers.ts'
import type { Endpoint } from '#lib/client/request.ts'
import type {
  addEntry,
  deleteEntry,
  editEntry,
  listEntries,
  readEntry,
  readKeyring,
  storeKeyring,
} from '#lib/domains/grimoire/contract.ts'
import type { Output } from '#lib/kernel/operation.ts'

const ofAgent = '/v1/agents/{id}'
const entries = `${ofAgent}/grimoire` as const

export const storeKeyringAt: Endpoint<typeof storeKeyring> = { method: 'put', path: `${ofAgent}/keyring` }
export const entriesAt: Endpoint<typeof listEntries> = { method: 'get', path: entries }
export const addEntryAt: Endpoint<typeof addEntry> = { method: 'post', path: entries }
export const entryAt: Endpoint<typeof readEntry> = { method: 'get', path: `${entries}/{entryId}` }
export const editEntryAt: Endpoint<typeof editEntry> = { method: 'put', path: `${entries}/{entryId}` }
export const deleteEntryAt: Endpoint<typeof deleteEntry> = { method: 'delete', path: `${entries}/{entryId}` }
/** Path prefix of every cached answer that contains entries. */
export const grimoirePaths = [entries]

export type StoredKeyring = Output<typeof readKeyring>['data']
export type EntryPage = Output<typeof listEntries>
export type GrimoireEntry = EntryPage['data'][number]
/** The content of an entry, decrypted if it was sealed. */
export type ReadableContent = NonNullable<GrimoireEntry['entry']>
export type ShownEntryKind = GrimoireEntry['kind']
export type ShownEntryScope = GrimoireEntry['scope']

export const shownEntryKinds = [
  'insight',
  'heuristic',
  'warning',
  'causal_link',
  'episode',
] as const satisfies readonly ShownEntryKind[]
export const shownEntryScopes = ['private', 'clade'] as const satisfies readonly ShownEntryScope[]

/** The filters in the address of the list. */
export const entryFilterParsers = {
  kind: parseAsStringLiteral(shownEntryKinds),
  scope: parseAsStringLiteral(shownEntryScopes),
}
export type EntryFilters = QueryValues<typeof entryFilterParsers>
export const loadEntryFilters = createLoader(entryFilterParsers)
export const entryQueryOf = ({ kind, scope }: EntryFilters) => ({
  limit: '50',
  ...(kind && { kind }),
  ...(scope && { scope }),
})
