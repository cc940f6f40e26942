import { type ErasedWords, longestSearch } from '#lib/kernel/data-source.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import type { Episode, GraphStore } from '#lib/stores/graph/graph.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { erasedTexts } from './erased-texts.ts'
import { type GroupItems, soughtAs } from './items.ts'
import { searched } from './planned-episodes.ts'

/** Ids that one query searches for. */
const soughtAtOnce = 1_000

/**
 * Counts the residue of a plan in one group: ids of episodes, and erased words in any text. The word search reads every record and does not
 * depend on the indexes that erasing uses. An episode that another author wrote, or that was cut, is not residue.
 */
export async function residueInGroup(
  { db, graph }: { db: Database; graph: GraphStore },
  scope: ErasureScope,
  of: GroupItems,
  words: ErasedWords,
  now: Date,
): Promise<number> {
  const { group, episodes, told } = of
  const sought = [...of.about, ...of.unsearched]
  if (episodes.length + told.length + sought.length === 0 && !of.words) return 0
  let left = 0
  const survivors = new Set<string>()
  await db.transaction(
    async (tx) => {
      const erased = await erasedTexts(group, scope, words, tx, now)
      const look = async (some: readonly Episode[]) => {
        const decider = await erased.decider(some, tx, { isPlanned: () => false, isFound: () => true })
        for (const episode of some)
          if (['retained', 'untouched'].includes(decider.decide(episode).decision)) survivors.add(episode.uuid)
      }
      const named = [...episodes, ...told]
      for (let at = 0; at < named.length; at += soughtAtOnce)
        await look(await graph.episodesById(group, named.slice(at, at + soughtAtOnce), tx))
      for (let at = 0; at < sought.length; at += soughtAtOnce) {
        const found = await searched(graph, tx, { group, ids: sought.slice(at, at + soughtAtOnce), texts: [] })
        const ids = [...found.keys()]
        await look(await graph.episodesById(group, ids, tx))
        left += ids.filter((uuid) => !survivors.has(uuid)).length
      }
      if (!of.words || words.isEmpty) return
      for await (const texts of await graph.texts(group, tx, erased.mayMatter)) {
        await erased.prepare(
          texts.map(({ text }) => text),
          tx,
        )
        left += texts.filter(({ kind, text }) =>
          kind === 'episode' ? erased.unexplained(text).length > 0 : erased.hasErased(text),
        ).length
      }
    },
    { longest: longestSearch, isSnapshot: true },
  )
  const { anywhere, asIds } = soughtAs({
    episodes: episodes.filter((uuid) => !survivors.has(uuid)),
    told: told.filter((uuid) => !survivors.has(uuid)),
  })
  return left + (await graph.residue(group, anywhere, asIds))
}
