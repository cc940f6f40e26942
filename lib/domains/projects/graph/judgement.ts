import type { PlannedRecord } from '#lib/kernel/data-source.ts'
import type { Episode, GraphChange, Neighbourhood } from '#lib/stores/graph/graph.ts'
import { tokenize } from '#lib/text/words.ts'

export type DecidedRecord = Omit<PlannedRecord, 'store' | 'found'>

/** The different words of a text. */
export const wordsOf = (text: string) => new Set(tokenize(text).map(({ word }) => word))

/** An episode that retains the words of other authors: its remaining content, and the words that only the erased part contains. */
export interface CutEpisode {
  rest: string
  erasedWords: ReadonlySet<string>
}
export function cutOf({ content }: Episode, rest: string): CutEpisode {
  const kept = wordsOf(rest)
  return { rest, erasedWords: new Set([...wordsOf(content)].filter((word) => !kept.has(word))) }
}

/** An empty change. */
export const noChange = (): GraphChange => ({
  deleteEpisodes: [],
  deleteEntities: [],
  deleteFacts: [],
  editEpisodes: [],
  removeMentions: [],
  changeFacts: [],
  editTexts: [],
  restoreFacts: [],
  blankEntities: [],
  blankCommunities: [],
  deleteCommunities: [],
  deleteSagas: [],
  changeSagas: [],
  link: [],
  names: [],
  redact: false,
  told: { personal: 0, unreferenced: 0, unproven: [], counts: {}, met: {}, gone: [] },
})

/** What has been decided about a neighbourhood so far. */
export interface Judgement {
  found: Neighbourhood
  change: GraphChange
  verdicts: DecidedRecord[]
  /** Episodes that are deleted. */
  erased: Set<string>
  /** Episodes that are cut. */
  cut: Map<string, CutEpisode>
  /** Records that remain without texts or sources. */
  judgedAgain: string[]
  /** Entities that remain although an erased episode mentions them. */
  orphaned: string[]
  tell(
    kind: string,
    id: string,
    name: string | null,
    verdict: PlannedRecord['verdict'],
    reason: string,
    evidence?: string[],
  ): void
}
export function newJudgement(found: Neighbourhood, redacts: boolean): Judgement {
  const verdicts: DecidedRecord[] = []
  return {
    found,
    change: { ...noChange(), redact: redacts },
    verdicts,
    erased: new Set(),
    cut: new Map(),
    judgedAgain: [],
    orphaned: [],
    tell: (kind, id, name, verdict, reason, evidence = []) =>
      verdicts.push({ kind, id, name, verdict, reason, evidence }),
  }
}
