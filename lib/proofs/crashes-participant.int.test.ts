// Like crashes.int.test.ts, for a participant without an account whose erasure the project's owner files.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { z } from 'zod'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { testApp } from '#lib/testing/app.ts'
import { storedInThread } from '#lib/testing/checkpoints.ts'
import { type CrashCopy, carriedOut, crashCopies, type Still } from '#lib/testing/crash-copies.ts'
import { type CrashWorkers, crashWorkers } from '#lib/testing/crash-workers.ts'
import { testDatabase } from '#lib/testing/database.ts'
import { entity, episode, fact } from '#lib/testing/graphs.ts'
import { drain } from '#lib/testing/jobs.ts'
import { locationCountsIn, outcomeOf } from '#lib/testing/outcome.ts'
import { postgresPlanting } from '#lib/testing/postgres-planting.ts'
import {
  dataOf,
  madeAttachment,
  madeConversation,
  madeDocument,
  madeMessage,
  madeProject,
  reported,
} from '#lib/testing/projects.ts'
import { sampled } from '#lib/testing/sampling.ts'

const name = 'Wilhelmina Thistlewood'
const email = 'wilhelmina@thistlewood.example'
const marker = 'the red kettle whistles twice before the morning train'
const other = 'The second participant of this project wrote this sentence.'
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
const ofSteps = (dataSources: readonly string[]): string[] =>
  dataSources.flatMap((source) => ['before', 'inside', 'after'].map((when) => `step.${source}.${when}`))

let workers: CrashWorkers
let dataSources: string[]
/** The installation before the first job of the erasure. */
let before: Still
const copies = crashCopies()
beforeAll(async () => {
  workers = crashWorkers({ spares: 2 })
  const database = await testDatabase()
  const test = await testApp({}, { ...database, drop: async () => {} })
  const project = await madeProject(test)
  const author = { external_id: 'user-1', name, email }
  const conversation = await madeConversation(test, project, {}, project.agent)
  const message = await madeMessage(test, conversation, project.agent, { author, content: `I said: ${marker}.` })
  await test.fetch('PATCH', message.path, { ...project.agent, body: { content: `Again: ${marker}.` } })
  await madeAttachment(test, message, project.agent, { bytes: marker })
  const theirs = await madeMessage(test, conversation, project.agent, {
    author: { external_id: 'user-2', name: 'Somebody Else' },
    content: other,
  })
  await madeMessage(test, conversation, project.agent, { role: 'assistant', content: 'An answer.' })
  const document = await test.fetch('POST', `${project.path}/documents?name=notes.txt&author=user-1`, {
    ...project.agent,
    body: marker,
    headers: { 'Content-Type': 'text/plain' },
  })
  expect(document.status).toBe(201)
  await madeDocument(test, project, project.agent)
  await storedInThread(test, conversation.id, [
    { id: message.id, text: `Again: ${marker}.` },
    { id: theirs.id, text: other },
  ])
  await postgresPlanting(test.db).plant({
    group: project.groupId,
    communities: [],
    sagas: [],
    next: [],
    episodes: [
      { ...episode('own-episode', 0), content: `${name}: ${marker}`, entityEdges: ['own-fact'] },
      { ...episode('other-episode', 1), content: other },
    ],
    entities: [entity('own-entity', name, ['Person']), entity('company', 'Harbor Mills', ['Company'])],
    facts: [fact('own-fact', 'own-entity', 'company', ['own-episode'])],
    mentions: [
      { episode: 'own-episode', entity: 'own-entity' },
      { episode: 'own-episode', entity: 'company' },
      { episode: 'other-episode', entity: 'company' },
    ],
  })
  await reported(test, project, project.agent, [
    { source_id: message.id, store: 'graph', ref: 'own-episode' },
    { source_id: theirs.id, store: 'graph', ref: 'other-episode' },
  ])
  const [found] = await dataOf(test, 'GET', `${project.path}/participants?external_id=user-1`, project.owner)
  await dataOf(test, 'POST', `${project.path}/participants/${found.id}/requests`, project.owner, {
    body: { kinds: ['erasure'], grace: 'now' },
  })
  dataSources = test.app.dataSources.map((dataSource) => dataSource.name)
  await drain(test, { except: ['erasure.start', 'knowledge.novelty'] })
  // Create these random keys before the installation is copied.
  await test.app.suppressionKeys.current('account', 'of nobody')
  await test.app.signer.keys()
  before = copies.still(test, database)
  await test.close()
}, 120_000)
afterAll(async () => {
  await workers.close()
  await copies.close()
})

/** The data sources whose steps erased something. */
const workedOn = ({ ownerUrl }: CrashCopy): Promise<string[]> =>
  withConnection(ownerUrl, async (client) => {
    const { rows } = await client.query<{ holder: string }>(
      'SELECT holder FROM erasure_steps WHERE planned > 0 ORDER BY holder',
    )
    return rows.map(({ holder }) => holder)
  })

const Store = z.looseObject({ holder: z.string(), found: z.number(), deleted: z.number(), residue: z.number() })
const Receipt = z.object({ receipt: z.looseObject({ stores: z.array(Store) }) })
/** The counts of the receipt, by data source. */
const countsOf = ({ ownerUrl }: CrashCopy) =>
  withConnection(ownerUrl, async (client) => {
    const { rows } = await client.query('SELECT receipt FROM erasures')
    expect(rows).toHaveLength(1)
    return Receipt.parse(rows[0]).receipt.stores.map(({ holder, found, deleted, residue }) => ({
      holder,
      found,
      deleted,
      residue,
    }))
  })

it('the erasure of a participant whose worker is killed at each sampled point has the outcome of an undisturbed erasure', async () => {
  const undisturbed = await copies.copyOf(before)
  await carriedOut(workers, undisturbed, { dying: false })
  const worked = await workedOn(undisturbed)
  const all = [...aroundSteps, ...ofSteps(worked)]
  const points = sampled('crash points of a participant’s erasure', all, 2)
  const passing = [...aroundSteps, ...ofSteps(dataSources)].filter((point) => !points.includes(point))

  const disturbed = await copies.copyOf(before)
  const started = performance.now()
  const died = await carriedOut(workers, disturbed, { dying: true, passing })
  console.log(`killed ${died.length} times in ${Math.round(performance.now() - started)} ms`)
  expect(died.toSorted()).toEqual(points.toSorted())

  expect(await countsOf(disturbed)).toEqual(await countsOf(undisturbed))
  const [ours, theirs] = [await outcomeOf(disturbed), await outcomeOf(undisturbed)]
  for (const place of Object.keys({ ...ours, ...theirs })) expect(ours[place], place).toEqual(theirs[place])
  expect(await locationCountsIn(disturbed, [marker, name, email])).toEqual({})
  expect(await locationCountsIn(disturbed, [other])).toMatchObject({ messages: 1, graph_episodes: 1 })
}, 1_800_000)
