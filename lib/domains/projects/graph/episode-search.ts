import type { Transaction } from '#lib/kernel/context.ts'
import type { Episode, GraphStore } from '#lib/stores/graph/graph.ts'

/** Minimum length in characters. Shorter texts are too common to identify one message. */
const shortestText = 20

const normal = (text: string): string => text.replace(/\s+/g, ' ').trim()

/** Ids that occur in a text as separate words or as parts of a word: `message:msg_1`, `msg_1.md`. */
export function idsIn(text: string, ids: ReadonlySet<string>): string[] {
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
export const namingOf = ({ name, sourceDescription, metadata }: Episode): string =>
  `${name}\n${sourceDescription}\n${JSON.stringify(metadata)}`

/** What to search for: ids of messages and documents, and their texts. */
export interface EpisodeSearch {
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
