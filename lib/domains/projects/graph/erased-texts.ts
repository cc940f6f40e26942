import { coveredRows } from '#lib/domains/projects/covered-rows.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { ErasedRunMatch, ErasedWords } from '#lib/kernel/data-source.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import type { Episode, GraphText, TextEdit } from '#lib/stores/graph/graph.ts'
import { redacted } from '#lib/stores/graph/graph.ts'
import { editText } from '#lib/text/views.ts'
import { tokenize } from '#lib/text/words.ts'
import { cutFrom, type DerivedTextDecision, decideDerivedText } from '../words/derived-text.ts'
import { mergeSpans } from '../words/fingerprints.ts'
import { type RemainingTexts, readRemainingTexts } from '../words/remaining-texts.ts'
import { allOf, TextIndex } from '../words/text-index.ts'
import { idsIn, namingOf } from './episode-search.ts'
import { idsInGroup, sourcesOfEpisodes } from './repository.ts'

/** Cache lifetime of a project's remaining texts, in milliseconds of system time. Texts erased meanwhile are found by their own erasure. */
const rememberedFor = 30_000

/** The sources of an episode. Only sources in the group's own project count. */
interface EpisodeSources {
  /** Texts of erased sources. */
  erased: string[]
  /** Texts of remaining sources. */
  remaining: string[]
  /** A remaining message or document names the episode. */
  isShared: boolean
}
const noSources: EpisodeSources = { erased: [], remaining: [], isShared: false }

/** Ids of the records of a scope in a group, whether or not they are already marked as being erased. */
async function idsInScope(scope: ErasureScope, group: string, tx: Transaction): Promise<Set<string>> {
  const ids = new Set<string>()
  for (const table of ['messages', 'documents'] as const) {
    const covered = coveredRows(scope, table)
    if (!covered) continue
    for (const { id } of await idsInGroup(tx, { ...covered.values, group }, covered.which)) ids.add(id)
  }
  return ids
}

/** The erased words of one group, and which of them also occur in remaining texts ("explained"). */
export interface ErasedTexts {
  readonly words: ErasedWords
  /** Whether one text or several consecutive texts contain erased words or names, even if other authors also wrote them. */
  readonly mayMatter: (text: string) => boolean
  /** Reads the remaining texts of the project if one of the texts contains erased words. */
  prepare(texts: Iterable<string>, tx: Transaction): Promise<void>
  /** Runs of erased words that no remaining text contains; before {@link prepare}, all runs. */
  unexplained(text: string): ErasedRunMatch[]
  /** Whether a generated text contains erased words or a name of the erased person. */
  hasErased(text: string): boolean
  /** How to change a generated text or the description of an episode; undefined if it remains as it is. */
  edit(text: GraphText): TextEdit | undefined
  /**
   * Decides about episodes. `isPlanned`: the plan names the episode, so this is its first decision. `isFound`: the episode names an erased
   * source, which may already be deleted.
   */
  decider(
    episodes: readonly Episode[],
    tx: Transaction,
    how: { isPlanned: (uuid: string) => boolean; isFound: (uuid: string) => boolean },
  ): Promise<EpisodeDecider>
}
export interface EpisodeDecider {
  decide(episode: Episode): DerivedTextDecision
  /** Whether the episode contains words of other authors, or a remaining source names it. */
  isShared(uuid: string): boolean
}

const nothingRemains: RemainingTexts = { explained: new Set(), long: new TextIndex(), short: new TextIndex() }
const known = new WeakMap<ErasedWords, Map<string, { until: number; texts: ErasedTexts }>>()

/** Cached for each erasure run and group. */
export async function erasedTexts(
  group: string,
  scope: ErasureScope,
  words: ErasedWords,
  tx: Transaction,
  now: Date,
): Promise<ErasedTexts> {
  const ofRun = known.get(words) ?? new Map()
  known.set(words, ofRun)
  const found = ofRun.get(group)
  if (found && found.until > performance.now()) return found.texts
  const texts = await makeErasedTexts(group, scope, words, tx, now)
  ofRun.set(group, { until: performance.now() + rememberedFor, texts })
  return texts
}

async function makeErasedTexts(
  group: string,
  scope: ErasureScope,
  words: ErasedWords,
  first: Transaction,
  now: Date,
): Promise<ErasedTexts> {
  const going = await idsInScope(scope, group, first)
  let remaining: RemainingTexts | undefined
  const load = async (tx: Transaction): Promise<RemainingTexts> => {
    if (remaining) return remaining
    const project = await tx.project.findUnique({ where: { groupId: group }, select: { id: true } })
    remaining = project ? await readRemainingTexts(tx, project.id, words, now, going) : nothingRemains
    return remaining
  }
  const unexplained = (text: string) => words.runsIn(text).filter(({ run }) => !remaining?.explained.has(run))
  const hasErased = (text: string) => unexplained(text).length > 0 || words.namesIn(text).length > 0

  async function readSources(episodes: readonly Episode[], tx: Transaction): Promise<Map<string, EpisodeSources>> {
    const found = new Map<string, EpisodeSources>()
    const uuids = episodes.map(({ uuid }) => uuid)
    if (uuids.length === 0) return found
    const pairs = episodes.flatMap((episode) =>
      idsIn(namingOf(episode), going).map((id) => [episode.uuid, id] as const),
    )
    const [naming, named] = [pairs.map(([uuid]) => uuid), pairs.map(([, id]) => id)]
    const rows = await sourcesOfEpisodes(tx, { group, naming, named, episodes: uuids, now })
    for (const { ref, source, texts, stays } of rows) {
      const of = found.get(ref) ?? { erased: [], remaining: [], isShared: false }
      found.set(ref, of)
      const isRemaining = stays && !going.has(source)
      for (const text of texts) (isRemaining ? of.remaining : of.erased).push(text)
      of.isShared ||= isRemaining
    }
    return found
  }

  return {
    words,
    mayMatter: (text) => words.runsIn(text).length > 0 || words.namesIn(text).length > 0,
    unexplained,
    hasErased,
    async prepare(texts, tx) {
      if (remaining || words.isEmpty) return
      for (const text of texts)
        if (words.runsIn(text).length > 0) {
          await load(tx)
          return
        }
    },
    edit({ kind, id, field, text }) {
      const place = { kind, id, field }
      const runs = unexplained(text)
      const isText = field in emptied
      if (kind === 'episode') {
        if (runs.length === 0 || field === 'content') return undefined
        return { ...place, text: isText ? (cutFrom(text, mergeSpans(runs)) ?? '') : null }
      }
      if (runs.length > 0)
        return { ...place, text: isText ? (kind === 'fact' && field === 'name' ? 'RELATES_TO' : '') : null }
      const names = mergeSpans(words.namesIn(text))
      if (names.length === 0) return undefined
      if (!isText || kind === 'link' || kind === 'node') return { ...place, text: null }
      return { ...place, text: editText(text, (one) => words.namesIn(one), redacted) ?? '' }
    },
    async decider(episodes, tx, { isPlanned, isFound }) {
      const sources = await readSources(episodes, tx)
      const prepared = new Map(
        episodes.map(({ uuid }) => {
          const { erased, remaining: others, isShared } = sources.get(uuid) ?? noSources
          return [uuid, { erased: new TextIndex(erased), remaining: new TextIndex(others), isShared }]
        }),
      )
      const decideWith = ({ uuid, content }: Episode, rest: RemainingTexts): DerivedTextDecision => {
        const of = prepared.get(uuid)
        if (!of) return { decision: 'untouched' }
        const isNamed = isPlanned(uuid) || isFound(uuid) || !of.erased.isEmpty
        return decideDerivedText(
          {
            text: content,
            isNamed,
            named: of.erased,
            remaining: allOf(of.remaining, rest.long),
            short: rest.short,
            isShared: of.isShared,
            isRepeated: !isPlanned(uuid) || of.erased.isEmpty,
          },
          words,
          rest.explained,
        )
      }
      // Read the remaining texts only if they matter: an episode that consists only of erased texts is deleted in any case.
      for (const episode of episodes) {
        if (remaining) break
        const of = prepared.get(episode.uuid)
        const spans = of?.erased.spansIn(episode.content) ?? []
        const isOwn = of?.isShared === false && spans.length > 0 && cutFrom(episode.content, mergeSpans(spans)) === null
        const isNamed = isPlanned(episode.uuid) || isFound(episode.uuid) || of?.erased.isEmpty === false
        if (isOwn || (!isNamed && words.runsIn(episode.content).length === 0)) continue
        await load(tx)
      }
      return {
        decide: (episode) => decideWith(episode, remaining ?? nothingRemains),
        isShared: (uuid) => prepared.get(uuid)?.isShared === true,
      }
    },
  }
}

/** Fields with a single text are emptied; other properties are removed. */
const emptied = { name: true, summary: true, fact: true, content: true, sourceDescription: true }

/** Whether a text consists only of names of the erased person. */
export const isOnlyNames = (words: ErasedWords, text: string): boolean => {
  const names = mergeSpans(words.namesIn(text))
  return (
    names.length > 0 &&
    tokenize(text).every(({ start, end }) => names.some((name) => name.start <= start && name.end >= end))
  )
}
