import { newId } from '#lib/kernel/ids.ts'
import { postgresPlanting } from '#lib/stores/graph/postgres-planting.ts'
import type { TestApp } from './app.ts'
import { entity, episode, fact } from './graphs.ts'
import { type Asker, type MadeProject, reported } from './projects.ts'

/** What Graphiti would have made of a message in the graph of our own tables, told by a pointer: an episode, a person, a company, a fact. */
export async function keptInGraph(
  test: TestApp,
  { project, source, words, teller }: { project: MadeProject; source: string; words: string; teller: Asker },
): Promise<string> {
  const [ref, person, company] = [newId('ep'), newId('ent'), newId('ent')]
  await postgresPlanting(test.db).plant({
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
  await reported(test, project, teller, [{ source_id: source, store: 'graph', ref }])
  return ref
}
