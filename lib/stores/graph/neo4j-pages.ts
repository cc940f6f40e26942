import { z } from 'zod'
import type { GraphOutcome, GraphStore } from './graph.ts'
import { neo4jApplyChange } from './neo4j-change.ts'
import type { CypherQuery } from './neo4j-connection.ts'
import type { WordIndexes } from './neo4j-indexes.ts'
import { neo4jNameMentions } from './neo4j-names.ts'
import { neo4jNeighbourhood, unlock } from './neo4j-neighbourhood.ts'

const Place = z.object({
  kind: z.enum(['fact', 'entity', 'episode', 'community', 'saga']),
  id: z.string(),
  field: z.string(),
})
const Outcome: z.ZodType<GraphOutcome> = z.object({
  episodesDeleted: z.number(),
  entitiesDeleted: z.number(),
  deleted: z.array(z.string()).default([]),
  orphaned: z.array(z.string()).default([]),
  factsDeleted: z.number(),
  factsChanged: z.number(),
  blanked: z.number(),
  episodesCut: z.number().default(0),
  textsEdited: z.number().default(0),
  mentions: z.array(Place),
  told: z
    .object({
      personal: z.number(),
      unreferenced: z.number(),
      unproven: z.array(z.string()),
      counts: z.record(z.string(), z.number()).default({}),
      met: z.record(z.string(), z.array(z.string())).default({}),
      gone: z.array(z.string()).default([]),
    })
    .default({ personal: 0, unreferenced: 0, unproven: [], counts: {}, met: {}, gone: [] }),
})
const Pages = z.array(z.object({ outcome: z.string().nullable() }))

// Both block until a transaction that took the same node commits: the page's node blocks a repetition of the page, the group's node any
// other change of the group.
const takePage = 'MERGE (p:KnowledgePulsePage {key: $key}) WITH p SET p.taken = true RETURN p.outcome AS outcome'
export const makeGroup = 'MERGE (:KnowledgePulseGroup {group_id: $group})'
const takeGroup = 'MATCH (g:KnowledgePulseGroup {group_id: $group}) SET g.taken = true RETURN 1 AS taken'
const keepOutcome = 'MATCH (p:KnowledgePulsePage {key: $key}) SET p.outcome = $outcome REMOVE p.taken'

/** Changes a page of a group once: a repetition returns the stored outcome. `ask` belongs to the transaction of the change. */
export async function neo4jChangePage(
  { ask, seek, words }: { ask: CypherQuery; seek: CypherQuery; words: WordIndexes },
  [group, episodes, key, decide, , ended = []]: Parameters<GraphStore['change']>,
): Promise<GraphOutcome> {
  const [page] = Pages.parse(await ask(takePage, { key }))
  if (page?.outcome != null) return Outcome.parse(JSON.parse(page.outcome))
  if ((await ask(takeGroup, { group })).length === 0) await ask(makeGroup, { group })
  const found = await neo4jNeighbourhood({ ask, seek }, group, episodes, ended, { locks: true })
  const change = decide(found)
  const counts = await neo4jApplyChange({ ask, seek }, group, change)
  const gone = new Set(change.deleteEntities)
  const outcome: GraphOutcome = {
    ...counts,
    deleted: change.deleteEntities,
    orphaned: found.entities.flatMap(({ uuid }) => (gone.has(uuid) ? [] : [uuid])),
    mentions: await neo4jNameMentions({ ask, seek }, group, change.names, change.redact, words),
    told: change.told,
  }
  const ends = found.facts.flatMap(({ source, target }) => [source, target])
  await unlock(ask, [...new Set([...found.entities.map(({ uuid }) => uuid), ...ends])])
  await ask('MATCH (g:KnowledgePulseGroup {group_id: $group}) REMOVE g.taken', { group })
  await ask(keepOutcome, { key, outcome: JSON.stringify(outcome) })
  return outcome
}
