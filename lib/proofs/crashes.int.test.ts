// The erasure of a person across all domains. Each domain tests its own data source in its own folder.
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { DataSource } from '#lib/kernel/data-source.ts'
import { newId } from '#lib/kernel/ids.ts'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { testApp } from '#lib/testing/app.ts'
import { carriedOut, crashCopies, type Still } from '#lib/testing/crash-copies.ts'
import { type CrashWorkers, crashWorkers } from '#lib/testing/crash-workers.ts'
import { testDatabase } from '#lib/testing/database.ts'
import { drain } from '#lib/testing/jobs.ts'
import { locationCountsIn, outcomeOf } from '#lib/testing/outcome.ts'
import { sampled } from '#lib/testing/sampling.ts'
import { type MadeSubject, madeSubject, notifiedOf } from '#lib/testing/subjects.ts'

let workers: CrashWorkers
let subject: MadeSubject
let dataSources: Pick<DataSource, 'name'>[]
let requestId: string
const copies = crashCopies()

/** This person has no thread, so that step does not run, and no unconfirmed form. thread-decisions.int.test.ts crashes in that step. */
const unreached = [
  ...['before', 'inside', 'after'].map((when) => `step.checkpoints.threads.${when}`),
  'step.privacy.forms.inside',
]

/** Every point at which a worker can be killed. */
const pointsOf = (all: typeof dataSources): string[] => [
  'start.before',
  'start.fenced',
  'start.planned',
  'start.intent',
  'start.after',
  ...all.flatMap(({ name }) => ['before', 'inside', 'after'].map((when) => `step.${name}.${when}`)),
  'last-look.before',
  'verify.before',
  'verify.committed',
  'verify.signed',
  'verify.after',
]

/** The installation before the first job of the erasure: the request is filed, verified and running. */
let before: Still
beforeAll(async () => {
  workers = crashWorkers({ spares: 2 })
  const database = await testDatabase()
  const test = await testApp({}, { ...database, drop: async () => {} })
  subject = await madeSubject(test)
  await test.db.prisma.projectParticipant.create({
    data: {
      id: newId('ptp'),
      projectId: subject.projects.shared,
      externalId: 'user-1',
      createdBy: subject.neighbour.agent.id,
      accountId: subject.accountId,
      claimedAt: test.clock.now(),
      createdAt: test.clock.now(),
      updatedAt: test.clock.now(),
    },
  })
  // A version that a hold preserved, of which no hold is left. Only the database writes them.
  await withConnection(database.ownerUrl, (client) =>
    client.query(
      `INSERT INTO held_versions (id, table_name, content, anchors, account_id, at)
       VALUES ($1, 'saved_searches', '{"name": "An earlier name"}', ARRAY['account:' || $2], $2, $3)`,
      [newId('hver'), subject.accountId, test.clock.now()],
    ),
  )
  dataSources = test.app.dataSources.map(({ name }) => ({ name }))
  const filed = await notifiedOf(test, 'POST', '/api/privacy/requests', {
    cookie: subject.cookie,
    body: { kinds: ['erasure'], grace: 'now', password: subject.password },
  })
  requestId = filed.id
  // Earlier emails are delivered, so that only emails of the erasure are compared. The jobs of the erasure wait.
  await drain(test, { except: ['erasure.start', 'accounts.notify', 'knowledge.novelty'] })
  await test.app.suppressionKeys.current('account', 'of nobody')
  before = copies.still(test, database)
  await test.close()
}, 120_000)
afterAll(async () => {
  await workers.close()
  await copies.close()
})

it('an erasure whose worker is killed at each sampled point has the outcome of an undisturbed erasure', async () => {
  const all = pointsOf(dataSources).filter((point) => !unreached.includes(point))
  const points = sampled('crash points of a person’s erasure', all, 4)
  const passing = all.filter((point) => !points.includes(point))
  const undisturbed = await copies.copyOf(before)
  const disturbed = await copies.copyOf(before)
  const started = performance.now()
  await carriedOut(workers, undisturbed, { dying: false })
  const died = await carriedOut(workers, disturbed, { dying: true, passing })
  console.log(`killed ${died.length} times in ${Math.round(performance.now() - started)} ms`)

  expect(died.toSorted()).toEqual(points.toSorted())
  const [ours, theirs] = [await outcomeOf(disturbed), await outcomeOf(undisturbed)]
  for (const place of Object.keys({ ...ours, ...theirs })) expect(ours[place], place).toEqual(theirs[place])

  expect(await locationCountsIn(disturbed, [subject.marker])).toEqual({})
  const [run] = JSON.parse(`[${ours.erasure_runs?.join(',')}]`)
  expect(run).toMatchObject({ state: 'done', request_id: requestId, rounds: 0 })
}, 1_800_000)
