/** Where the name of an erased person remains in another author's text: the location, never the words. */
export interface Mention {
  store: string
  /** `fact`, `summary`, `episode`, `message`, `document` … */
  kind: string
  id: string
  field: string
  isRedacted: boolean
}
/**
 * Ids of what a page met, and of what it deleted. `isOfParts`: the ids are texts of records ({@link idOfPart}); a deleted record also
 * removes its texts.
 */
export interface Tally {
  met: readonly string[]
  gone: readonly string[]
  isOfParts?: boolean
}
/** A tally of ids that a page met and did not delete as records. */
export const tallyOf = (met: Iterable<string>): Tally => ({ met: [...met], gone: [] })
export const idOfPart = (record: string, part: string): string => `${record}\n${part}`
/** The result of a page, for which a single count is not enough. */
export interface Erased {
  count: number
  /**
   * Further counts by name: `entitiesDeleted`, `entitiesOrphaned`, `threads` … For each store, the receipt shows derived texts that were
   * cut, deleted, judged again as if the erased texts had never existed, or retained because another author wrote the words
   * (`derivedCut`, `derivedDeleted`, `derivedDecidedAgain`, `derivedRetained`). It also shows texts that a model generated while an
   * erased episode was in its context, with and without erased words (`exposedMatched`, `exposedUnmatched`), and items whose rows remain
   * without data of the subject (`pseudonymized`).
   */
  results: Record<string, number>
  /**
   * By the name in `results`, for counts of things that several pages may meet: what this page met, and what no longer counts. A run
   * counts each thing once.
   */
  tallies?: Record<string, Tally>
  mentions: Mention[]
  /** How many items remain, because somebody decided so or because another step erases them. */
  retained?: number
  /** For a second search: threads that cannot be rewritten. What was found in them remains. */
  unreadable?: readonly string[]
}
export const erasedOf = (erased: number | Erased): Erased =>
  typeof erased === 'number' ? { count: erased, results: {}, mentions: [] } : erased
/** How many items were erased. */
export const countOf = (erased: number | Erased): number => erasedOf(erased).count

/** The result of a page of records, some of which remain without data of the subject. */
export const erasedRows = ({ deleted, pseudonymized }: { deleted: number; pseudonymized: number }): Erased => ({
  count: deleted + pseudonymized,
  results: pseudonymized > 0 ? { pseudonymized } : {},
  mentions: [],
})
