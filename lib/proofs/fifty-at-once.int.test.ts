// Concurrent erasures of related messages through the API: covers the endpoint, the erasure engine and the graph.
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { decideNeighbourhood, type Policy } from '#lib/domains/projects/graph/rules.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { numbers, sharedGraph } from '#lib/testing/graphs.ts'
import { drain } from '#lib/testing/jobs.ts'
import { changed, neighbourhoodIn } from '#lib/testing/model-graph.ts'
import { neo4jPlanting } from '#lib/testing/neo4j-planting.ts'
import type { GraphPlanting, PlantedGraph } from '#lib/testing/planted-graph.ts'
import { postgresPlanting } from '#lib/testing/postgres-planting.ts'
import { dataOf, madeConversation, madeProject, manyMessages, reported } from '#lib/testing/projects.ts'
import { sampled } from '#lib/testing/sampling.ts'
import { isInstalled } from '#lib/testing/services/installed.ts'
import { neo4jServer } from '#lib/testing/services/shared.ts'

const counted = ['episodesDeleted', 'entitiesDeleted', 'entitiesOrphaned', 'factsDeleted'] as const
const Logged = z.record(z.string(), z.number())
type Counts = Record<(typeof counted)[number], number>
const none: Counts = { episodesDeleted: 0, entitiesDeleted: 0, entitiesOrphaned: 0, factsDeleted: 0 }
const added = (all: readonly Record<string, number>[]): Counts =>
  all.reduce<Counts>(
    (sum, one) => ({
      episodesDeleted: sum.episodesDeleted + (one.episodesDeleted ?? 0),
      entitiesDeleted: sum.entitiesDeleted + (one.entitiesDeleted ?? 0),
      entitiesOrphaned: sum.entitiesOrphaned + (one.entitiesOrphaned ?? 0),
      factsDeleted: sum.factsDeleted + (one.factsDeleted ?? 0),
    }),
    none,
  )

const policy: Policy = {
  entityKinds: {},
  redacts: false,
  provenance: { endedBy: new Map(), erasedSourceIds: new Set() },
}
/** Erases the episodes in sequence, in memory. Returns the remaining graph and the counts. */
function inTurn(planted: PlantedGraph, order: readonly string[]): { graph: PlantedGraph; counts: Counts } {
  let graph = planted
  const each: Counts[] = []
  for (const episode of order) {
    const found = neighbourhoodIn(graph, [episode])
    const { change } = decideNeighbourhood(found, policy)
    const deleted = new Set(change.deleteEntities)
    const after = changed(graph, change)
    each.push({
      episodesDeleted: graph.episodes.length - after.episodes.length,
      entitiesDeleted: graph.entities.length - after.entities.length,
      entitiesOrphaned: found.entities.filter(({ uuid }) => !deleted.has(uuid)).length,
      factsDeleted: graph.facts.length - after.facts.length,
    })
    graph = after
  }
  return { graph, counts: added(each) }
}
function shuffled(ids: readonly string[], seed: number): string[] {
  const next = numbers(seed)
  const left = [...ids]
  return ids.flatMap(() => left.splice(next(left.length), 1))
}
/** A graph with everything sorted by id, for comparison. */
function sorted({ episodes, entities, facts, mentions, communities, sagas, next }: PlantedGraph) {
  const byId = <T extends { uuid: string }>(all: readonly T[]) =>
    Object.fromEntries(all.map((one) => [one.uuid, one] as const).sort(([one], [other]) => (one < other ? -1 : 1)))
  const set = (ids: readonly string[]) => ids.toSorted()
  return {
    episodes: byId(episodes.map((one) => ({ ...one, entityEdges: set(one.entityEdges) }))),
    entities: byId(entities),
    facts: byId(facts.map((one) => ({ ...one, episodes: set(one.episodes) }))),
    mentions: mentions.map(({ episode, entity }) => `${episode} ${entity}`).sort(),
    communities: byId(communities.map((one) => ({ ...one, members: set(one.members) }))),
    sagas: byId(sagas.map((one) => ({ ...one, episodes: set(one.episodes) }))),
    next: next.map(({ from, to }) => `${from} ${to}`).sort(),
  }
}

const closing: (() => Promise<unknown>)[] = []
afterAll(async () => {
  for (const close of closing.reverse()) await close()
})
async function inTables(): Promise<[TestApp, GraphPlanting]> {
  const app = await testApp()
  closing.push(() => app.close())
  return [app, postgresPlanting(app.db)]
}
async function inNeo4j(): Promise<[TestApp, GraphPlanting]> {
  const { url } = await neo4jServer()
  const planting = neo4jPlanting(url)
  const app = await testApp({ KP_GRAPH_URL: url })
  closing.push(() => planting.close())
  closing.push(() => app.close())
  return [app, planting]
}

describe.each([
  ['PostgreSQL', true, inTables],
  ['Neo4j', isInstalled('neo4j'), inNeo4j],
])('concurrent erasures of messages that share graph entities, in %s', (place, isThere, open) => {
  test.skipIf(!isThere)(
    'all succeed and leave the same graph as erasures in sequence',
    async () => {
      const [app, planting] = await open()
      const project = await madeProject(app)
      const conversation = await madeConversation(app, project)
      const path = (message: string) => `${conversation.path}/messages/${encodeURIComponent(message)}`
      const author = { kind: 'account' as const, id: project.owner.accountId }
      const messages = await manyMessages(app, {
        projectId: project.id,
        conversations: [conversation.id],
        author,
        each: 60,
      })
      const graph = sharedGraph(project.groupId, { episodes: 60, entities: 25, facts: 120 })
      await planting.plant(graph)
      const episodeOf = (at: number) => graph.episodes[at]?.uuid ?? ''
      const entries = messages.map((source_id, at) => ({ source_id, store: 'graph', ref: episodeOf(at) }))
      const report = () => reported(app, project, project.owner, entries)
      // A Neo4j that other tests use may be too slow for the first report, which then stores nothing.
      await report().catch((error: unknown) => {
        if (!String(error).includes('answered 503')) throw error
        return report()
      })
      const erasable = messages.flatMap((message, at) => (at % 6 === 0 ? [] : [{ message, episode: episodeOf(at) }]))
      const deleted = sampled(`concurrent erasures of messages in ${place}`, erasable, 6)

      const answers = await Promise.all(deleted.map(({ message }) => app.fetch('DELETE', path(message), project.owner)))
      const unexpected = answers.filter(({ status }) => ![200, 202].includes(status))
      expect(unexpected.map(({ status, text }) => `${status} ${text}`)).toEqual([])
      // The queue finishes erasures that yielded to another one or were not awaited.
      await drain(app, { mayFail: true })
      const erasures = []
      for (const { json } of answers)
        for (const until = performance.now() + 120_000; ; await delay(100)) {
          const erasure = await dataOf(app, 'GET', `/api/erasures/${json.auditId}`, project.owner)
          if (!erasure.success && performance.now() < until) continue
          erasures.push(erasure)
          break
        }
      expect(erasures.filter(({ success }) => !success)).toEqual([])

      const orders = [deleted, deleted.toReversed()].map((all) => all.map(({ episode }) => episode))
      for (const seed of [1, 2, 3]) orders.push(shuffled(orders[0] ?? [], seed))
      const ends = orders.map((order) => inTurn(graph, order))
      const remaining = sorted(await planting.standing(project.groupId))
      for (const end of ends) expect(remaining).toEqual(sorted(end.graph))
      const logged = await app.db.prisma.deletionAuditEntry.findMany({
        where: { auditId: { in: answers.map(({ json }) => json.auditId) } },
      })
      const counts = added(logged.map(({ results }) => Logged.parse(results)))
      expect(ends.map((end) => end.counts)).toContainEqual(counts)
      expect(added(erasures.map((erasure) => erasure.deleted_from.graphiti))).toEqual({ ...counts, factsDeleted: 0 })

      const left = await app.db.prisma.message.findMany({ select: { id: true }, orderBy: { id: 'asc' } })
      const erasedIds = new Set(deleted.map(({ message }) => message))
      expect(left.map(({ id }) => id)).toEqual(messages.filter((id) => !erasedIds.has(id)))
      expect(await app.db.prisma.erasure.count({ where: { state: 'signed', deletedId: { in: messages } } })).toBe(
        deleted.length,
      )
    },
    600_000,
  )
})
