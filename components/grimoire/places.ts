import { createLoader, type inferParserType, parseAsStringLiteral } from 'nuqs/server'
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
export const touched = [entries]

export type Keyring = Output<typeof readKeyring>['data']
export type EntryPage = Output<typeof listEntries>
export type Entry = EntryPage['data'][number]
/** The content of an entry, decrypted if it was sealed. */
export type Said = NonNullable<Entry['entry']>
export type Kind = Entry['kind']
export type Scope = Entry['scope']

export const kinds = ['insight', 'heuristic', 'warning', 'causal_link', 'episode'] as const satisfies readonly Kind[]
export const scopes = ['private', 'clade'] as const satisfies readonly Scope[]

/** The filters in the address of the list. */
export const filterParsers = { kind: parseAsStringLiteral(kinds), scope: parseAsStringLiteral(scopes) }
export type Filters = inferParserType<typeof filterParsers>
export const loadFilters = createLoader(filterParsers)
export const queryOf = ({ kind, scope }: Filters) => ({
  limit: '50',
  ...(kind && { kind }),
  ...(scope && { scope }),
})
