import { afterAll, beforeAll, expect, it } from 'vitest'
import { ErasureProgress } from '#lib/domains/erasure/contract.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { drain } from '#lib/testing/jobs.ts'
import { createNotes, type NotesControl, noteDataSource, writeNotes } from '#lib/testing/notes.ts'
import { issuedAgent, signedIn } from '#lib/testing/people.ts'
import { sideStore, sideStoreDataSource } from '#lib/testing/side-store.ts'

let test: TestApp
const control: NotesControl = { erased: [] }
const side = sideStore()
beforeAll(async () => {
  test = await testApp({ KP_TRUSTED_PROXIES: '127.0.0.1' }, undefined, {
    moreDataSources: (db) => [noteDataSource(control)(db), sideStoreDataSource(side)(db)],
  })
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

let client = 0
/** Opens a stream from another address, because each address has a rate limit. Reads its first event; empty if it has none. */
async function opened(receiptId: string) {
  client += 1
  const abort = new AbortController()
  const response = await fetch(`${test.url}/v1/receipts/${receiptId}/progress/events`, {
    headers: { 'X-Forwarded-For': `2001:db8:${client.toString(16)}::1` },
    signal: abort.signal,
  })
  const { value } = response.status === 200 ? ((await response.body?.getReader().read()) ?? {}) : {}
  return { status: response.status, first: new TextDecoder().decode(value), close: () => abort.abort() }
}
const floodOf = (count: number) =>
  Promise.all(Array.from({ length: count }, (_, number) => opened(`rcpt_${String(number).padStart(22, '0')}`)))
const isOpen = ({ first }: { first: string }): boolean => first !== ''

it('a flood of streams for unknown ids ends at 25, and a stream of an erasure still opens', async () => {
  const { receiptId } = await begun()
  const flood = await floodOf(40)
  try {
    // A stream of another test may still be closing.
    expect(flood.filter(isOpen).length).toBeLessThanOrEqual(25)
    expect(flood.filter(isOpen).length).toBeGreaterThan(20)
    expect((await opened('rcpt_9999999999999999999999')).status).toBe(503)
    const watched = await opened(receiptId)
    expect(watched).toMatchObject({ status: 200, first: 'data: {"state":"planning","places":[]}\n\n' })
    watched.close()
  } finally {
    for (const { close } of flood) close()
  }
  await drain(test)
  // Closed streams free their places. Each attempt keeps the streams that it opened.
  const held: typeof flood = []
  try {
    await expect
      .poll(
        async () => {
          held.push(...(await floodOf(25 - held.length)).filter(isOpen))
          return held.length
        },
        { timeout: 120_000 },
      )
      .toBe(25)
  } finally {
    for (const { close } of held) close()
  }
})

it('the progress has the same counts for an agent of another person, and none for a revoked token', async () => {
  const { receiptId } = await begun()
  const stranger = await issuedAgent(test, ['read'], { owner: await signedIn(test) })
  const path = `/v1/receipts/${receiptId}/progress`
  expect((await test.fetch('GET', path, { token: stranger.token })).json).toEqual((await test.fetch('GET', path)).json)
  await test.db.query(undefined, 'UPDATE tokens SET revoked_at = now() WHERE agent_id = $1', [stranger.id])
  expect((await test.fetch('GET', path, { token: stranger.token })).status).toBe(401)
  await drain(test)
})

it.each(['rcpt_', `rcpt_${'0'.repeat(23)}`, `rcpt_${'0'.repeat(21)}%00`])(
  'GET /v1/receipts/{id}/progress/events rejects the id %s',
  async (id) => expect((await test.fetch('GET', `/v1/receipts/${id}/progress/events`)).status).toBe(422),
)

it('an erasure that fails in the middle shows its remaining records', async () => {
  const { receiptId } = await begun()
  control.beforeErase = () => {
    throw new Error('the store broke')
  }
  await expect(drain(test)).rejects.toThrow('the store broke')
  control.beforeErase = undefined
  const broken = await progressOf(receiptId)
  expect(broken.places.find(({ store }) => store === 'notebook')).toMatchObject({ remaining: 3, found_again: null })
  expect(['erasing', 'failed']).toContain(broken.state)
})

it('GET /v1/receipts/{id}/progress returns failed while a stuck step blocks all others, until it is retried', async () => {
  const { runId, receiptId } = await begun()
  control.beforeErase = () => {
    throw new Error('the store broke')
  }
  await drain(test, { mayFail: true })
  control.beforeErase = undefined
  expect(await progressOf(receiptId)).toMatchObject({
    state: 'failed',
    places: expect.arrayContaining([expect.objectContaining({ store: 'notebook', remaining: 3 })]),
  })
  await test.db.transaction((tx) => test.app.subjectErasures.retry(tx, runId, undefined, test.clock.now()))
  expect((await progressOf(receiptId)).state).toBe('erasing')
  await drain(test)
  expect((await progressOf(receiptId)).state).toBe('done')
})

it('the progress names a store that does not answer before the records are counted, and since when', async () => {
  const { receiptId } = await begun()
  side.slow = async (asked) => {
    if (asked === 'plan') throw new Problem('unavailable', 'the store does not answer')
  }
  try {
    await drain(test, { mayFail: true })
    const { state, places } = await progressOf(receiptId)
    expect(state).toBe('planning')
    expect(places).toEqual([
      { store: 'side', records: 0, remaining: 0, held: 0, found_again: null, waiting_since: expect.any(String) },
    ])
  } finally {
    side.slow = undefined
  }
})
