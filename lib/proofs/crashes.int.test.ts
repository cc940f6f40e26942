// Proofs about the whole, beside no domain because they are about all of them together: what a domain does by itself is tested in its own folder.
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { DataHolder } from '#lib/kernel/holder.ts'
import { testApp } from '#lib/testing/app.ts'
import { carriedOut, crashCopies, type Still } from '#lib/testing/crash-copies.ts'
import { type CrashWorkers, crashWorkers } from '#lib/testing/crash-workers.ts'
import { testDatabase } from '#lib/testing/database.ts'
import { drain } from '#lib/testing/jobs.ts'
import { outcomeOf, placesOf } from '#lib/testing/outcome.ts'
import { type MadeSubject, madeSubject, told } from '#lib/testing/subjects.ts'

let workers: CrashWorkers
let subject: MadeSubject
let holders: Pick<DataHolder, 'name' | 'stage'>[]
let requestId: string
const copies = crashCopies()

/** `all`: also where what happens is the same code for every holder, with the same to lose. */
const isThorough = process.env.KP_CRASH_POINTS === 'all'
/**
 * Where a worker is killed, and where it passes: within the step of every holder, which is where a holder has done its part and nothing is
 * committed; before and after it, where the holder is not asked anything, at the first of every stage.
 */
function pointsOf(all: typeof holders): [string[], string[]] {
  const seen = new Set<string>()
  const points = ['start.before', 'start.fenced', 'start.planned', 'start.intent', 'start.after']
  const passing: string[] = []
  for (const { name, stage } of all) {
    points.push(`step.${name}.inside`)
    const around = seen.has(stage) && !isThorough ? passing : points
    around.push(`step.${name}.before`, `step.${name}.after`)
    seen.add(stage)
  }
  points.push('last-look.before', 'verify.before', 'verify.committed', 'verify.signed', 'verify.after')
  return [points, passing]
}

/** What a subject's erasure is before its first job: the request is filed, verified, and running. */
let before: Still
beforeAll(async () => {
  workers = crashWorkers({ spares: 2 })
  const database = await testDatabase()
  const test = await testApp({}, { ...database, drop: async () => {} })
  subject = await madeSubject(test)
  holders = test.app.holders.map(({ name, stage }) => ({ name, stage }))
  const filed = await told(test, 'POST', '/api/privacy/requests', {
    cookie: subject.cookie,
    body: { kinds: ['erasure'], grace: 'now', password: subject.password },
  })
  requestId = filed.id
  // Letters so far are handed over, so that only those of the erasure are compared; its own jobs wait.
  await drain(test, { except: ['erasure.start', 'accounts.notify', 'knowledge.novelty'] })
  await test.app.suppressionKeys.current('account', 'of nobody')
  before = copies.still(test, database)
  await test.close()
}, 120_000)
afterAll(async () => {
  await workers.close()
  await copies.close()
})

it('one erasure whose worker is killed at every point in turn comes to the outcome of an undisturbed one', async () => {
  const [points, passing] = pointsOf(holders)
  const undisturbed = await copies.copyOf(before)
  const disturbed = await copies.copyOf(before)
  const started = performance.now()
  await carriedOut(workers, undisturbed, { dying: false })
  const died = await carriedOut(workers, disturbed, { dying: true, passing })
  console.log(`killed ${died.length} times in ${Math.round(performance.now() - started)} ms`)

  expect(died.toSorted()).toEqual(points.toSorted())
  const [ours, theirs] = [await outcomeOf(disturbed), await outcomeOf(undisturbed)]
  for (const place of Object.keys({ ...ours, ...theirs })) expect(ours[place], place).toEqual(theirs[place])

  expect(await placesOf(disturbed, [subject.marker])).toEqual({})
  const [run] = JSON.parse(`[${ours.erasure_runs?.join(',')}]`)
  expect(run).toMatchObject({ state: 'done', request_id: requestId, rounds: 0 })
}, 900_000)
