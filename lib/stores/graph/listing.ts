/** The kinds of record in a graph, in the order of an export. */
export const listedKinds = ['episodes', 'entities', 'facts', 'communities', 'sagas'] as const
export type ListedKind = (typeof listedKinds)[number]

/** One node or fact with all its properties except its group and its embeddings. */
export interface ListedElement {
  uuid: string
  record: Record<string, unknown>
}
