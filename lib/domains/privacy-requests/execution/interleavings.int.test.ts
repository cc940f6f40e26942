import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { mayBecome, type parties, type RequestState } from '#lib/domains/privacy-requests/rules.ts'
import { drain } from '#lib/testing/jobs.ts'
import { issuedAgent, releaseInPerson } from '#lib/testing/people.ts'
import { type PrivacyTest, privacyTest } from '#lib/testing/privacy.ts'
import { sampledRuns, sampleSeed } from '#lib/testing/sampling.ts'
import { personWithPassword } from '#lib/testing/subjects.ts'
import { trace } from '#lib/testing/units.ts'

let kit: PrivacyTest
/** Crashes the engine at the n-th interruption point; 0: never. */
let crashIn = 0
beforeAll(async () => {
  kit = await privacyTest(
    {},
    {
      interrupt: () => {
        if (crashIn > 0 && --crashIn === 0) throw new Error('a crash')
      },
    },
  )
})
afterAll(() => kit.close())

const hour = 3_600_000
const moves = [
  'file',
  'verify',
  'cancel',
  'expedite',
  'pause',
  'resume',
  'refuse',
  'retry',
  'extend',
  'hold',
  'release',
  'wait',
  'tick',
  'work',
  'tick and cancel',
  'two ticks',
  'work and release',
  'crash',
  'late crash',
] as const
type Move = (typeof moves)[number]
interface Row {
  from: RequestState | null
  to: RequestState | null
  by: (typeof parties)[number]
  event: string
}

/** Drains the queue with a crash at that interruption point. */
async function crashing(point: number): Promise<void> {
  crashIn = point
  await drain(kit.test, { except: ['privacy.clock'], mayFail: true })
  crashIn = 0
}

/** Checks the invariants of a request, which hold after any order of steps. */
async function checkRequest(id: string): Promise<void> {
  const { timeline, state, receipt_id, erasure } = await kit.adminRead(id)
  const steps: Row[] = timeline.filter(({ to }: Row) => to !== null)
  // Each transition is in the table and starts from the previous state.
  for (const [index, { from, to, by }] of steps.entries()) {
    if (index === 0) expect([from, to]).toEqual([null, 'received'])
    else expect([from, from && to && mayBecome(from, to, by)]).toEqual([steps[index - 1]?.to, true])
  }
  expect(steps.at(-1)?.to).toBe(state)
  const runs = await kit.test.db.prisma.erasureRun.findMany({ where: { requestId: id } })
  expect(runs.length).toBeLessThanOrEqual(1)
  // No erasure after a cancellation or a refusal.
  if (state === 'cancelled' || state === 'rejected') expect(runs).toHaveLength(0)
  // At most one receipt; a completed request has it, without residue.
  const receipts = await kit.test.db.prisma.erasure.findMany({
    where: { receiptId: { in: runs.map(({ receiptId }) => receiptId) } },
  })
  expect(receipts.length).toBeLessThanOrEqual(1)
  if (state === 'completed') {
    expect([receipts.length, receipts[0]?.receiptId, erasure.state]).toEqual([1, receipt_id, 'done'])
    for (const { residue } of erasure.steps) expect(residue ?? 0).toBe(0)
  }
}

it('any order of steps keeps to the transition table, erases nothing under a hold or after a cancellation, and signs one receipt', {
  timeout: 300_000,
}, async () => {
  const officer = await issuedAgent(kit.test, ['admin'])
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom<Move>(...moves), { minLength: 4, maxLength: 14 }), async (script) => {
      const person = await personWithPassword(kit.test)
      const agent = await issuedAgent(kit.test, ['read', 'write'], { owner: person })
      const unit: string = (await kit.test.fetch('POST', '/v1/knowledge', { token: agent.token, body: trace() })).json
        .data.id
      let hold: string | undefined
      const ids: string[] = []
      const last = () => ids.at(-1) ?? ''
      const act: Record<Move, () => Promise<unknown>> = {
        file: async () => {
          const { json, status } = await kit.file(person.cookie, {
            kinds: ['erasure'],
            grace: '24h',
            password: person.password,
          })
          if (status === 201) ids.push(json.data.id)
        },
        verify: () => kit.act(person.cookie, last(), 'verify', { password: person.password }),
        cancel: () => kit.act(person.cookie, last(), 'cancel'),
        expedite: () => kit.asAdmin(last(), 'expedite', { reason: 'Asked for.' }),
        pause: () => kit.asAdmin(last(), 'pause', { reason: 'Doubts.' }),
        resume: () => kit.asAdmin(last(), 'resume'),
        refuse: () => kit.asAdmin(last(), 'refuse', { ground: 'other', reason: 'No.' }),
        retry: () => kit.asAdmin(last(), 'retry', {}),
        extend: () => kit.asAdmin(last(), 'extend', { days: 5, reason: 'Many.' }),
        hold: async () => {
          const body = { kind: 'unit', target_id: unit, reason: 'A case.' }
          const { json, status } = await kit.test.fetch('POST', '/v1/holds', { token: officer.token, body })
          if (status === 201) hold = json.data.id
        },
        release: async () => {
          if (hold === undefined) return
          await releaseInPerson(kit.test, hold)
          hold = undefined
        },
        wait: async () => kit.test.clock.advance(13 * hour),
        tick: kit.clockJob,
        work: () => kit.work(),
        'tick and cancel': () => Promise.all([kit.clockJob(), act.cancel()]),
        crash: () => crashing(3),
        'late crash': () => crashing(20),
        'two ticks': () => Promise.all([kit.clockJob(), kit.clockJob()]),
        'work and release': () => Promise.all([kit.work(), act.release()]),
      }
      for (const move of ['file', ...script] as const) {
        const wasHeld = hold !== undefined && (await kit.test.db.prisma.unit.count({ where: { id: unit } })) === 1
        await act[move]()
        // No erasure under a hold.
        if (wasHeld && hold !== undefined) expect(await kit.test.db.prisma.unit.count({ where: { id: unit } })).toBe(1)
        for (const id of ids) await checkRequest(id)
      }
      await act.release()
      await kit.work()
      for (const id of ids) await checkRequest(id)
    }),
    {
      seed: sampleSeed,
      // The examples below run first and are counted.
      numRuns: sampledRuns('orders of the steps of one privacy request', 16, 8),
      endOnFailure: true,
      // Orders that random generation rarely produces.
      examples: [
        [['wait', 'wait', 'tick', 'work', 'file']],
        [['hold', 'expedite', 'work', 'file', 'release', 'work']],
        [['wait', 'wait', 'tick and cancel', 'work', 'file', 'expedite', 'crash', 'late crash', 'work']],
        [['expedite', 'crash', 'hold', 'late crash', 'work and release', 'retry', 'work']],
        [['pause', 'wait', 'wait', 'tick', 'resume', 'two ticks', 'work']],
      ],
    },
  )
})
