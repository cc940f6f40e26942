import { afterAll, beforeAll, expect, it } from 'vitest'
import { ErasureProgress } from '#lib/domains/erasure/contract.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { drain } from '#lib/testing/jobs.ts'
import { createNotes, type NotesControl, noteDataSource, writeNotes } from '#lib/testing/notes.ts'
import { issuedAgent, signedIn } from '#lib/testing/people.ts'

let test: TestApp
const control: NotesControl = { erased: [] }
beforeAll(async () => {
  test = await testApp({}, undefined, { moreDataSources: (db) => [noteDataSource(control)(db)] })
  await createNotes(test.ownerUrl)
})
afterAll(() => test?.close())

async function begun() {
  const person = await signedIn(test)
  const agent = await issuedAgent(test, ['read', 'write'], { owner: person })
  await writeNotes(test.db, agent.id, 3)
  return test.db.transaction((tx) =>
    test.app.subjectErasures.begin(tx, {
      requestId: null,
      subject: { account: person.accountId, agents: [] },
      requestedBy: `user:${person.accountId}`,
      reason: 'user_request',
      now: test.clock.now(),
    }),
  )
}
const progressOf = async (receiptId: string): Promise<ErasureProgress> =>
  ErasureProgress.parse((await test.fetch('GET', `/v1/receipts/${receiptId}/progress`)).json.data)

it('GET /v1/receipts/{id}/progress returns the remaining records of each place until none remains', async () => {
  const { receiptId } = await begun()
  expect(await progressOf(receiptId)).toEqual({ state: 'planning', places: [] })
  const seen: ErasureProgress[] = []
  control.beforeErase = async () => {
    seen.push(await progressOf(receiptId))
  }
  await drain(test)
  control.beforeErase = undefined
  const [first] = seen
  expect(first?.state).toBe('erasing')
  const place = first?.places.find(({ store }) => store === 'postgresql')
  expect(place?.remaining).toBeGreaterThanOrEqual(3)
  expect(place).toMatchObject({ held: 0, found_again: null, waiting_since: null })
  const last = await progressOf(receiptId)
  expect(last.state).toBe('done')
  expect(last.places.map(({ remaining, found_again }) => [remaining, found_again])).toEqual(
    last.places.map(() => [0, 0]),
  )
  expect(last.places.find(({ store }) => store === 'postgresql')?.records).toBe(place?.records)
})

it('GET /v1/receipts/{id}/progress/events follows an erasure from its start to its end', async () => {
  const { receiptId } = await begun()
  const followed = test.fetch('GET', `/v1/receipts/${receiptId}/progress/events`)
  await drain(test)
  const { text, headers } = await followed
  expect(headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
  const events = text
    .split('\n\n')
    .filter((event) => event.startsWith('data: '))
    .map((event) => ErasureProgress.parse(JSON.parse(event.slice('data: '.length))))
  expect(events[0]?.state).toBe('planning')
  expect(events.at(-1)?.state).toBe('done')
  expect(text).not.toContain('@')
})

it('GET /v1/receipts/{id}/progress returns 404 for an unknown id, and its events wait', async () => {
  const path = `/v1/receipts/rcpt_${'0'.repeat(22)}/progress`
  expect((await test.fetch('GET', path)).status).toBe(404)
  const abort = new AbortController()
  const response = await fetch(`${test.url}${path}/events`, { signal: abort.signal })
  const { value } = (await response.body?.getReader().read()) ?? {}
  expect(new TextDecoder().decode(value)).toBe('data: {"state":"waiting","places":[]}\n\n')
  abort.abort()
})
