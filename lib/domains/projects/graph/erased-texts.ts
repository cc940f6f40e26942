import type { Transaction } from '#lib/kernel/context.ts'
import type { ErasedRunMatch, ErasedWords } from '#lib/kernel/data-source.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import { type Episode, type GraphStore, type GraphText, redacted, type TextEdit } from '#lib/stores/graph/graph.ts'
import { editText } from '#lib/text/views.ts'
import { tokenize } from '#lib/text/words.ts'
import { coveredRows } from '../legal-holds.ts'
import { besides, cutFrom, type DerivedTextDecision, decideDerivedText } from '../words/derived-text.ts'
import { mergeSpans, withoutFileWords } from '../words/fingerprints.ts'
import { formsOf, type RemainingTexts, readRemainingTexts } from '../words/remaining-texts.ts'
import { allOf, TextIndex } from '../words/text-index.ts'
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
  /** Names that no remaining text of a person contains; before {@link prepare}, all names. */
  namesOfNobody(text: string): ErasedRunMatch[]
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

const nothingRemains: RemainingTexts = {
  explained: new Set(),
  explainedNames: new Set(),
  long: new TextIndex(),
  persons: new TextIndex(),
  short: new TextIndex(),
}
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

/** Minimum length in characters. Shorter texts are too common to identify one message. */
const shortestText = 20

const normal = (text: string): string => text.replace(/\s+/g, ' ').trim()

/** Ids that occur in a text as separate words or as parts of a word: `message:msg_1`, `msg_1.md`. */
function idsIn(text: string, ids: ReadonlySet<string>): string[] {
  const found = new Set<string>()
  for (const [token] of text.matchAll(/[\w.:-]{1,400}/g)) {
    const starts = [0]
    const ends: number[] = []
    for (const { index } of token.matchAll(/[.:-]/g)) {
      ends.push(index)
      starts.push(index + 1)
    }
    ends.push(token.length)
    // A token with many separators is not one of our ids. Checking only the whole token keeps the cost linear.
    const isPlain = ends.length <= 24
    for (const start of isPlain ? starts : [0])
      for (const end of isPlain ? ends : [token.length])
        if (end > start && ids.has(token.slice(start, end))) found.add(token.slice(start, end))
  }
  return [...found]
}

/** The fields in which an episode may name its sources. */
const namingOf = ({ name, sourceDescription, metadata }: Episode): string =>
  `${name}\n${sourceDescription}\n${JSON.stringify(metadata)}`

/** What to search for: ids of messages and documents, and their texts. */
interface EpisodeSearch {
  ids: ReadonlySet<string>
  texts: readonly { source: string; text: string }[]
}
/** Returns the sources that an episode names or whose text it contains. */
function matcher({ ids, texts }: EpisodeSearch): (episode: Episode) => Map<string, 'group' | 'text'> {
  const byBeginning = new Map<string, { source: string; text: string }[]>()
  for (const { source, text } of texts) {
    const whole = normal(text)
    if (whole.length < shortestText) continue
    const beginning = whole.slice(0, shortestText)
    byBeginning.set(beginning, [...(byBeginning.get(beginning) ?? []), { source, text: whole }])
  }
  return (episode) => {
    const { content } = episode
    const found = new Map<string, 'group' | 'text'>()
    if (byBeginning.size > 0) {
      const whole = normal(content)
      for (let at = 0; at + shortestText <= whole.length; at++)
        for (const { source, text } of byBeginning.get(whole.slice(at, at + shortestText)) ?? [])
          if (whole.startsWith(text, at)) found.set(source, 'text')
    }
    for (const id of idsIn(namingOf(episode), ids)) found.set(id, 'group')
    return found
  }
}

/** Episodes of a group that name a wanted source or contain its text, with these sources and how each was found. */
export async function episodesOf(
  graph: GraphStore,
  group: string,
  sought: EpisodeSearch,
  tx: Transaction,
): Promise<{ episode: Episode; of: Map<string, 'group' | 'text'> }[]> {
  const match = matcher(sought)
  const texts = sought.texts.map(({ text }) => text).filter((text) => normal(text).length >= shortestText)
  if (sought.ids.size === 0 && texts.length === 0) return []
  const found = await graph.search(group, { ids: [...sought.ids], texts }, tx)
  return found.map((episode) => ({ episode, of: match(episode) })).filter(({ of }) => of.size > 0)
}

async function makeErasedTexts(
  group: string,
  scope: ErasureScope,
  all: ErasedWords,
  first: Transaction,
  now: Date,
): Promise<ErasedTexts> {
  const erasedIds = await idsInScope(scope, group, first)
  let remaining: RemainingTexts | undefined
  const project = await first.project.findUnique({ where: { groupId: group }, select: { id: true } })
  /** The group belongs to no project, so nothing says what other people wrote in it. */
  const isOfNobody = project === null
  const words = isOfNobody ? withoutFileWords(all) : all
  const load = async (tx: Transaction): Promise<RemainingTexts> => {
    if (remaining) return remaining
    remaining = project ? await readRemainingTexts(tx, project.id, words, now, erasedIds) : nothingRemains
    return remaining
  }
  const unexplained = (text: string): ErasedRunMatch[] => {
    const found = words.runsIn(text).filter(({ run }) => !remaining?.explained.has(run))
    if (found.length === 0 || !remaining) return found
    const theirs = remaining.persons.spansIn(text)
    return found.filter((match) => besides(text, [match], theirs).length > 0)
  }
  /** Names of the erased person that no remaining text of a person contains. */
  const namesOfNobody = (text: string): ErasedRunMatch[] =>
    words.namesIn(text).filter(({ run }) => !remaining?.explainedNames.has(run))
  const hasErased = (text: string) => unexplained(text).length > 0 || words.namesIn(text).length > 0

  async function readSources(episodes: readonly Episode[], tx: Transaction): Promise<Map<string, EpisodeSources>> {
    const found = new Map<string, EpisodeSources>()
    const uuids = episodes.map(({ uuid }) => uuid)
    if (uuids.length === 0) return found
    const pairs = episodes.flatMap((episode) =>
      idsIn(namingOf(episode), erasedIds).map((id) => [episode.uuid, id] as const),
    )
    const [naming, named] = [pairs.map(([uuid]) => uuid), pairs.map(([, id]) => id)]
    const rows = await sourcesOfEpisodes(tx, { group, naming, named, episodes: uuids, now })
    for (const { ref, source, texts, stays } of rows) {
      const of = found.get(ref) ?? { erased: [], remaining: [], isShared: false }
      found.set(ref, of)
      const isRemaining = stays && !erasedIds.has(source)
      if (isRemaining) for (const text of texts) of.remaining.push(...formsOf(text, words, redacted))
      else of.erased.push(...texts)
      of.isShared ||= isRemaining
    }
    return found
  }

  return {
    words,
    namesOfNobody,
    mayMatter: (text) => words.runsIn(text).length > 0 || words.namesIn(text).length > 0,
    unexplained,
    hasErased,
    async prepare(texts, tx) {
      if (remaining || words.isEmpty) return
      for (const text of texts)
        if (words.runsIn(text).length > 0 || words.namesIn(text).length > 0) {
          await load(tx)
          return
        }
    },
    edit({ kind, id, field, text }) {
      const place = { kind, id, field }
      const runs = unexplained(text)
      const isText = field in emptied
      if (kind === 'episode') {
        if (field === 'content') {
          // Its words are decided with its sources. A name in an episode that a person wrote is theirs.
          if (runs.length > 0 || namesOfNobody(text).length === 0) return undefined
          return { ...place, text: editText(text, namesOfNobody, redacted) ?? '' }
        }
        if (runs.length === 0) return undefined
        return { ...place, text: isText ? (cutFrom(text, mergeSpans(runs)) ?? '') : null }
      }
      if (runs.length > 0)
        return { ...place, text: isText ? (kind === 'fact' && field === 'name' ? 'RELATES_TO' : '') : null }
      const names = mergeSpans(words.namesIn(text))
      if (names.length === 0) return undefined
      if (kind === 'link' || kind === 'node') return { ...place, text: null }
      if (!isText) return { ...place, text: attributeWithout(field, text, words) }
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
        const decided = decideDerivedText(
          {
            text: content,
            isNamed,
            named: of.erased,
            remaining: allOf(of.remaining, rest.long),
            persons: rest.persons,
            short: rest.short,
            isShared: of.isShared,
            isRepeated: !isPlanned(uuid) || of.erased.isEmpty,
          },
          words,
          rest.explained,
        )
        if (decided.decision === 'deleted' && !isNamed && isOfNobody) {
          const rest = cutFrom(content, mergeSpans(unexplained(content)))
          if (rest !== null && unexplained(rest).length === 0)
            return { decision: 'cut', text: editText(rest, namesOfNobody, redacted) ?? '' }
        }
        if (decided.decision !== 'cut') return decided
        return { decision: 'cut', text: editText(decided.text, namesOfNobody, redacted) ?? '' }
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

/** The value of an attribute without names. Null if its key contains one, or if nothing else remains. */
function attributeWithout(field: string, text: string, words: Pick<ErasedWords, 'namesIn'>): string | null {
  const key = field.replace(/^attributes\./, '')
  if (!field.startsWith('attributes.') || words.namesIn(key).length > 0) return null
  const value = text.slice(key.length + 1)
  const rest = isOnlyNames(words, value) ? undefined : editText(value, (one) => words.namesIn(one), redacted)
  return rest ?? null
}

/** Fields with a single text are emptied; other properties are removed. */
const emptied = { name: true, summary: true, fact: true, content: true, sourceDescription: true }

/** Whether a text consists only of names of the erased person. */
export const isOnlyNames = (words: Pick<ErasedWords, 'namesIn'>, text: string): boolean => {
  const names = mergeSpans(words.namesIn(text))
  return (
    names.length > 0 &&
    tokenize(text).every(({ start, end }) => names.some((name) => name.start <= start && name.end >= end))
  )
}
