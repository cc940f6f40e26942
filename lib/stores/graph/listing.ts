/** What a graph consists of, in the order in which an export gives it. */
export const listedKinds = ['episodes', 'entities', 'facts', 'communities', 'sagas'] as const
export type ListedKind = (typeof listedKinds)[number]

/** One node or fact with all its properties but its group and its embeddings. */
export interface Listed {
  uuid: string
  record: Record<string, unknown>
}
