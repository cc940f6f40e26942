import type { Run } from './endpoints.ts'

/**
 * The erasure of a message, conversation or document searches names only in the graph. An empty result means something only if the graph
 * held data of it.
 */
export const wereNamesSearched = ({ state, steps }: Pick<Run, 'state' | 'steps'>): boolean =>
  state === 'done' && steps.some(({ store, planned }) => store === 'graph' && planned > 0)

const kinds = [
  'episode',
  'fact',
  'entity',
  'summary',
  'community',
  'saga',
  'message',
  'document',
  'conversation',
] as const
/** The message key of a kind of record; undefined if it has no translation. */
export const mentionKind = (kind: string) => kinds.find((known) => known === kind)
