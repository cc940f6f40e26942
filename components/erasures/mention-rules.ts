import type { Run } from './places.ts'

/** Of a part, names are looked for in the graph alone: whether there was anything of it there, so that not to have found any says something. */
export const wereNamesLookedFor = ({ state, steps }: Pick<Run, 'state' | 'steps'>): boolean =>
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
/** Under which key the word for a kind of place stands; undefined: there is none. */
export const mentionKind = (kind: string) => kinds.find((known) => known === kind)
