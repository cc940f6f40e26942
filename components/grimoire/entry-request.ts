import type { RequestInput } from '#lib/client/request.ts'
import type { addEntry, editEntry } from '#lib/domains/grimoire/contract.ts'
import type { Draft, EditedEntry, readDraft } from './entry-draft.ts'
import type { OpenVault } from './use-vault.ts'

export type EntryRequest = { add: RequestInput<typeof addEntry> } | { edit: RequestInput<typeof editEntry> }
interface EntryRequestParts {
  draft: Pick<Draft, 'scope' | 'kind'>
  /** The entry that is edited; undefined for a new entry. */
  edited: EditedEntry | undefined
  /** The draft as an entry; undefined while a field is wrong. */
  entry: ReturnType<typeof readDraft>['entry']
  agentId: string
  vault: OpenVault
}

/** The request that stores a draft; undefined if the draft is not valid. The content of a private entry is encrypted here. */
export async function requestOf({
  draft: { scope, kind },
  edited,
  entry,
  agentId,
  vault,
}: EntryRequestParts): Promise<EntryRequest | undefined> {
  if (!entry) return undefined
  const { valid_from, valid_until, confidence, ...rest } = entry
  const ends = valid_until === null ? {} : { valid_until }
  const at = edited && { id: edited.entry.agent_id, entryId: edited.entry.id }
  const read = edited && { revision: edited.entry.revision }
  const params = { id: agentId }
  if (scope === 'private') {
    const { id, envelope } = await vault.ask('write', {
      agent: at?.id ?? agentId,
      kind,
      entry,
      ...(at && { id: at.entryId }),
    })
    return at && read
      ? { edit: { params: at, body: { scope, ...read, envelope, ...ends } } }
      : { add: { params, body: { scope, id, kind, envelope, ...ends } } }
  }
  if (confidence === null || kind === 'episode') return undefined
  const lists = { tags: [...rest.tags], parents: [...rest.parents] }
  const body = { ...rest, ...lists, scope, confidence, ...(valid_from !== null && { valid_from }), ...ends }
  return at && read
    ? { edit: { params: at, body: { ...body, ...read } } }
    : { add: { params, body: { ...body, kind } } }
}
