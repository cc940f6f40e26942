import { newId } from '#lib/kernel/ids.ts'
import type { TestApp } from './app.ts'
import { entity, episode, fact } from './graphs.ts'
import { neo4jPlanting } from './neo4j-planting.ts'
import type { PlantedGraph } from './planted-graph.ts'
import { postgresPlanting } from './postgres-planting.ts'
import { type MadeProject, type ProjectClient, reported } from './projects.ts'

/** Plants in the main database or in the connected Neo4j. */
async function plant({ app, db }: TestApp, graph: PlantedGraph): Promise<void> {
  const url = app.env.KP_GRAPH_URL
  if (url === undefined) return postgresPlanting(db).plant(graph)
  const planting = neo4jPlanting(url)
  await planting.plant(graph)
  await planting.close()
}

/**
 * Plants what Graphiti would derive from a message (an episode, a person, a company and a fact), and reports the
 * pointer to the episode.
 */
export async function storedInGraph(
  test: TestApp,
  {
    project,
    source,
    words,
    reporter,
  }: { project: MadeProject; source: string; words: string; reporter: ProjectClient },
): Promise<string> {
  const [ref, person, company] = [newId('ep'), newId('ent'), newId('ent')]
  await plant(test, {
    group: project.groupId,
    episodes: [episode(ref, 1, { content: words })],
    entities: [
      entity(person, `Somebody ${words}`, ['Person'], { summary: words }),
      entity(company, 'Somewhere', ['Company'], { summary: words }),
    ],
    facts: [fact(newId('fact'), person, company, [ref], { fact: words })],
    mentions: [person, company].map((one) => ({ episode: ref, entity: one })),
    communities: [{ uuid: newId('com'), name: words, summary: words, members: [person, company] }],
    sagas: [],
    next: [],
  })
  await reported(test, project, reporter, [{ source_id: source, store: 'graph', ref }])
  return ref
}
