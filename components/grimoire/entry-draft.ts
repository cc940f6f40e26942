import { beginningOf, endOf, localDayOf } from '#components/frame/local-time.ts'
import type { SealedJson } from '#lib/client/sealing/encoding.ts'
import type { EntryContent } from '#lib/client/sealing/entry.ts'
import type { GrimoireEntry, ReadableContent, ShownEntryKind, ShownEntryScope } from './endpoints.ts'
import { confidenceIn, fieldTextOf, parentsIn, tagsIn, valueIn } from './vault-rules.ts'

/** The typed contents of the form. They exist only in the memory of the page. */
export interface Draft {
  scope: ShownEntryScope
  kind: ShownEntryKind
  content: string
  confidence: string
  tags: string
  provenance: string
  parents: string
  /** Days (`2026-01-31`) in the reader's time zone. */
  from: string
  until: string
}
export const emptyDraft: Draft = {
  scope: 'private',
  kind: 'insight',
  content: '',
  confidence: '',
  tags: '',
  provenance: '',
  parents: '',
  from: '',
  until: '',
}
/** The entry that is edited, with its content when the edit began. */
export interface EditedEntry {
  entry: GrimoireEntry
  said: ReadableContent
}
const none = { content: null, confidence: null, tags: [], provenance: null, parents: [], valid_from: null }
const dayIn = (at: string | null, zone: string): string => (at === null ? '' : localDayOf(new Date(at), zone))

export const entryDraftOf = ({ entry, said }: EditedEntry, zone: string): Draft => ({
  scope: entry.scope,
  kind: entry.kind,
  content: fieldTextOf(said.content),
  confidence: said.confidence === null ? '' : String(said.confidence),
  tags: said.tags.join(', '),
  provenance: fieldTextOf(said.provenance),
  parents: said.parents.join(' '),
  from: dayIn(said.valid_from, zone),
  until: dayIn(entry.valid_until, zone),
})

export type Wrong = 'content' | 'json' | 'confidence' | 'tags' | 'provenance' | 'parents' | 'from' | 'until'
/** Parses the draft and lists the invalid fields. Unedited fields keep their exact stored value, times to the millisecond. */
export function readDraft(draft: Draft, edited: EditedEntry | undefined, zone: string, now: number) {
  const before = edited?.said ?? none
  // Both values were parsed from JSON.
  const content = valueIn(draft.content, before.content as SealedJson)
  const provenance = valueIn(draft.provenance, before.provenance as SealedJson)
  const confidence = confidenceIn(draft.confidence)
  const tags = draft.tags === before.tags.join(', ') ? before.tags : tagsIn(draft.tags)
  const parents = draft.parents === before.parents.join(' ') ? before.parents : parentsIn(draft.parents)
  const timeIn = (day: string, stood: string | null, timeOf: typeof endOf): string | null | undefined => {
    if (day === dayIn(stood, zone)) return stood
    return day === '' ? null : timeOf(day, zone)?.toISOString()
  }
  const from = timeIn(draft.from, before.valid_from, beginningOf)
  const until = timeIn(draft.until, edited?.entry.valid_until ?? null, endOf)

  const wrong = new Set<Wrong>()
  if (content === undefined) wrong.add('json')
  if (content === null || content === '') wrong.add('content')
  if (confidence === undefined || (draft.scope === 'clade' && confidence === null)) wrong.add('confidence')
  if (tags === undefined) wrong.add('tags')
  if (provenance === undefined) wrong.add('provenance')
  if (parents === undefined) wrong.add('parents')
  if (from === undefined) wrong.add('from')
  if (until === undefined || (until !== null && Date.parse(until) <= now)) wrong.add('until')
  const isWhole =
    content !== undefined &&
    confidence !== undefined &&
    tags !== undefined &&
    provenance !== undefined &&
    parents !== undefined &&
    from !== undefined &&
    until !== undefined
  const entry: EntryContent | undefined =
    isWhole && wrong.size === 0
      ? { content, confidence, tags, provenance, parents, valid_from: from, valid_until: until }
      : undefined
  return { entry, wrong }
}
