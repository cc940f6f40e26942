// Like crashes.int.test.ts, with every connected store on its own server, so that no transaction spans two of them.
import { afterAll, describe, expect, test } from 'vitest'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import {
  areStoresInstalled,
  type ConnectedStores,
  connectTestStores,
  storeServers,
} from '#lib/testing/connected-stores.ts'
import { carriedOut, crashCopies } from '#lib/testing/crash-copies.ts'
import { crashWorkers } from '#lib/testing/crash-workers.ts'
import { testDatabase } from '#lib/testing/database.ts'
import { locationsOf as placesIn } from '#lib/testing/everything.ts'
import { sentence } from '#lib/testing/graphs.ts'
import { drain } from '#lib/testing/jobs.ts'
import { locationCountsIn, outcomeOf } from '#lib/testing/outcome.ts'
import { sampled } from '#lib/testing/sampling.ts'
import { spreadMessage } from '#lib/testing/spread.ts'
import { madeSubject, notifiedOf } from '#lib/testing/subjects.ts'

const aroundSteps = [
  'start.before',
  'start.fenced',
  'start.planned',
  'start.intent',
  'start.after',
  'last-look.before',
  'verify.before',
  'verify.committed',
  'verify.signed',
  'verify.after',
]
const pointsOf = (dataSources: readonly string[]): string[] =>
  dataSources.flatMap((dataSource) => ['before', 'inside', 'after'].map((when) => `step.${dataSource}.${when}`))
const connected = ['cache.entries', 'checkpoints.messages', 'graph.episodes', 'objects.bytes']

/** Rows without the number of attempts: on a busy machine a server may be slow to answer. */
const counted = (rows: readonly string[] = []): string[] => rows.map((row) => row.replace(/"attempts": \d+/, '')).sort()

/** A requested erasure. */
interface Begun {
  /** The graph group that contains data of the erasure. */
  group: string
  /** A text that occurs in all erased data, and nowhere else. */
  needle: string
  /** Data sources whose steps have work. */
  holders: string[]
}

/** One message of two in a conversation, with derived data in every store. */
async function ofMessage(app: TestApp, stores: ConnectedStores): Promise<Begun> {
  const { project, message } = await spreadMessage(app, stores)
  await drain(app)
  const answer = await app.fetch('DELETE', message.path, project.owner)
  expect([answer.status, answer.json.success]).toEqual([202, false])
  return {
    group: project.groupId,
    needle: sentence,
    holders: [...connected, 'projects.quotations', 'projects.messages'],
  }
}

/** A person with a project, who also takes part in another person's project. */
async function ofSubject(app: TestApp): Promise<Begun> {
  const subject = await madeSubject(app, { agents: 1, units: 1 })
  const [own] = await app.db.query<{ group: string; message: string }>(
    undefined,
    `SELECT p.group_id AS group, m.id AS message FROM projects p JOIN messages m ON m.project_id = p.id WHERE p.id = $1`,
    [subject.projects.own],
  )
  if (!own) throw new Error('the subject has no message')
  await app.app.stored.cache.set('theirs', subject.marker, { ttl: 3_600, about: [own.message] })
  await notifiedOf(app, 'POST', '/api/privacy/requests', {
    cookie: subject.cookie,
    body: { kinds: ['erasure'], grace: 'now', password: subject.password },
  })
  await drain(app, { except: ['erasure.start', 'accounts.notify', 'knowledge.novelty'] })
  return { group: own.group, needle: subject.marker, holders: app.app.dataSources.map(({ name }) => name) }
}

describe.skipIf(!(await areStoresInstalled()))('with Neo4j, Redis, S3 and another database', () => {
  const copies = crashCopies()
  const workers = crashWorkers({ spares: 2 })
  const closing = [() => copies.close(), () => workers.close()]
  afterAll(async () => {
    for (const close of closing.reverse()) await close()
  })

  class Crash extends Error {}
  const interrupt = (point: string) => {
    if (point === 'start.before') throw new Crash(point)
  }

  test.each([
    ['a message', ofMessage, (dataSources) => [...aroundSteps, ...pointsOf(dataSources)], 2],
    // crashes.int.test.ts kills workers at the other points of a person's erasure.
    ['a person', ofSubject, () => pointsOf(connected), 1],
  ] satisfies [string, typeof ofMessage | typeof ofSubject, (dataSources: string[]) => string[], number][])(
    'the erasure of %s leaves every store like an undisturbed erasure when its worker is killed at each sampled point',
    async (subject, begin, crashPoints, size) => {
      const servers = await storeServers()
      closing.push(() => servers.close())
      const stores = await connectTestStores(servers)
      closing.push(() => stores.close())
      const database = await testDatabase()
      const app = await testApp(stores.settings, { ...database, drop: async () => {} }, { interrupt })
      const { group, needle, holders } = await begin(app, stores)
      // Create these random keys before the installation is copied.
      await app.app.suppressionKeys.current('account', 'of nobody')
      await app.app.signer.keys()
      const still = copies.still(app, database)
      await app.close()
      const putBack = await stores.retainedAside(group)
      expect(placesIn(await stores.everything(), needle).length).toBeGreaterThan(10)

      const undisturbed = await copies.copyOf(still, stores.settings)
      await carriedOut(workers, undisturbed, { dying: false })
      const inStores = await stores.settled(group)
      await putBack()
      const disturbed = await copies.copyOf(still, stores.settings)
      const points = sampled(
        `crash points of the erasure of ${subject} with connected stores`,
        crashPoints(holders),
        size,
      )
      const passing = [...aroundSteps, ...pointsOf(holders)].filter((point) => !points.includes(point))
      const started = performance.now()
      const died = await carriedOut(workers, disturbed, { dying: true, passing })
      console.log(`killed ${died.length} times in ${Math.round(performance.now() - started)} ms`)
      expect(died.toSorted()).toEqual(points.toSorted())

      expect(await stores.settled(group)).toEqual(inStores)
      const [ours, theirs] = [await outcomeOf(disturbed), await outcomeOf(undisturbed)]
      for (const place of Object.keys({ ...ours, ...theirs }))
        expect(counted(ours[place]), place).toEqual(counted(theirs[place]))
      expect(placesIn(await stores.everything(), needle)).toEqual([])
      expect(await locationCountsIn(disturbed, [needle])).toEqual({})
      const [run] = JSON.parse(`[${ours.erasure_runs?.join(',')}]`)
      expect(run).toMatchObject({ state: 'done', rounds: 0 })
      expect(await stores.pagesOf(run.id)).toEqual([])
    },
    1_800_000,
  )
})
