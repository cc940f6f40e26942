import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { newId } from '#lib/kernel/ids.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { issuedAgent, signedIn } from '#lib/testing/people.ts'

let test: TestApp
beforeAll(async () => {
  test = await testApp()
})
afterAll(() => test?.close())

it('GET /api/privacy/plan shares one search among concurrent calls for a subject, and counts against the write limit', async () => {
  const owner = await signedIn(test)
  const agents = [await issuedAgent(test, ['read'], { owner }), await issuedAgent(test, ['read'], { owner })]
  const { dryRun } = test.app.subjectErasures
  const searched: string[][] = []
  const answers = Promise.withResolvers<void>()
  test.app.subjectErasures.dryRun = async (subject, now) => {
    searched.push([...subject.agents])
    await answers.promise
    return dryRun(subject, now)
  }
  let arrived = 0
  const plan = test.app.useCases.find(({ operation }) => operation.path === '/api/privacy/plan')
  if (!plan) throw new Error('no operation reads a plan')
  const { execute } = plan
  plan.execute = (...given) => {
    arrived++
    return execute(...given)
  }
  const ask = (token: string) => test.fetch('GET', '/api/privacy/plan', { token })
  try {
    const asked = Array.from({ length: 10 }, () => agents.map(({ token }) => ask(token))).flat()
    // A request that arrives after the response would start another search.
    await vi.waitUntil(() => arrived === asked.length, 120_000)
    await vi.waitUntil(() => new Set(searched.flat()).size === agents.length, 120_000)
    answers.resolve()
    const responses = await Promise.all(asked)
    expect(responses.map(({ status }) => status)).toEqual(responses.map(() => 200))
    expect(responses[0]?.json.data.total).toBeGreaterThan(0)
    expect(responses[0]?.headers.get('ratelimit-policy')).toContain('"write"')
  } finally {
    test.app.subjectErasures.dryRun = dryRun
    plan.execute = execute
  }
  expect(searched.toSorted()).toEqual(agents.map(({ id }) => [id]).toSorted())
  // Later calls search again.
  expect((await ask(agents[0]?.token ?? '')).status).toBe(200)
})

it('listErasures names only delays of a slow erasure that are later than its start, and its longest step', async () => {
  const day = 86_400_000
  const ago = (days: number) => new Date(test.clock.now().getTime() - days * day)
  const [id, requestId] = [newId('run'), newId('preq')]
  const received = { channel: 'console', subjectKind: 'person', subjectKey: requestId, receivedAt: ago(20) } as const
  await test.db.prisma.privacyRequest.create({
    data: { ...received, id: requestId, kinds: ['erasure'], state: 'completed', legalDueAt: ago(-10), runId: id },
  })
  const note = (event: string, at: Date) =>
    test.db.prisma.privacyRequestEvent.create({ data: { id: newId('evt'), requestId, at, by: 'admin', event } })
  await note('paused', ago(19))
  await note('resumed', ago(18))
  await test.db.prisma.erasureRun.create({
    data: {
      id,
      requestId,
      receiptId: newId('rcpt'),
      requestedBy: 'x',
      reason: 'x',
      state: 'done',
      createdAt: ago(10),
      plannedAt: ago(10),
      erasedAt: ago(5),
      finishedAt: ago(5),
      steps: {
        create: [{ holder: 'h', store: 'graph', position: 0, state: 'done', startedAt: ago(10), finishedAt: ago(5) }],
      },
    },
  })
  const causes = async () => {
    const { json } = await test.fetch('GET', `/api/erasures?q=${id}`, await signedIn(test, 'admin'))
    return json.data[0].causes.map(({ code }: { code: string }) => code)
  }
  expect(await causes()).toEqual(['slow_step'])
  await note('failed', ago(9))
  await note('running', ago(8))
  expect(await causes()).toEqual(['step_failed', 'slow_step'])
})
