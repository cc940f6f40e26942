import { createServer } from 'node:http'
import { expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { job } from '#lib/kernel/job.ts'
import { testApp } from '#lib/testing/app.ts'
import { issuedAgent } from '#lib/testing/people.ts'
import { trace } from '#lib/testing/units.ts'

/** A collector that keeps the bodies of OTLP/JSON requests. */
async function collector() {
  const received: { path: string; body: ReturnType<typeof JSON.parse>; text: string }[] = []
  const server = createServer((request, response) => {
    const pieces: Buffer[] = []
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('end', () => {
      const text = Buffer.concat(pieces).toString()
      received.push({ path: request.url ?? '', body: JSON.parse(text), text })
      response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}')
    })
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  onTestFinished(() => void server.close())
  const address = server.address()
  return { received, url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}` }
}

interface Span {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  kind: number
  attributes: { key: string; value: { stringValue?: string; intValue?: number } }[]
}

const spansOf = (received: Awaited<ReturnType<typeof collector>>['received']): Span[] =>
  received
    .filter(({ path }) => path === '/v1/traces')
    .flatMap(({ body }) => body.resourceSpans)
    .flatMap(({ scopeSpans }) => scopeSpans)
    .flatMap(({ spans }) => spans)
const attribute = ({ attributes }: Span, key: string) => {
  const value = attributes.find((one) => one.key === key)?.value
  return value?.stringValue ?? value?.intValue
}

test('a collector gets a span for each request, job and statement, and the metrics of GET /metrics, without content or identities', async () => {
  const { received, url } = await collector()
  const test = await testApp({
    OTEL_EXPORTER_OTLP_ENDPOINT: `${url}/`,
  })
  onTestFinished(test.close)
  const exporting = await test.app.exportTelemetry()
  const agent = await issuedAgent(test, ['read', 'write'])
  const clientTrace = '4bf92f3577b34da6a3ce929d0e0e4736'
  const sentence = 'The ferry to Harlingen leaves at noon'
  const made = await test.fetch('POST', '/v1/knowledge', {
    token: agent.token,
    body: trace({ task: { objective: sentence } }),
    headers: { traceparent: `00-${clientTrace}-00f067aa0ba902b7-01`, 'X-Request-Id': 'wish-of-wim' },
  })
  expect(made.status).toBe(201)
  const read = await test.fetch('GET', `/v1/knowledge/${made.json.data.id}`, {
    token: agent.token,
    headers: { 'User-Agent': sentence },
  })
  expect((await test.fetch('GET', '/v1/knowledge/kp_0000', { token: 'kp_nonsense' })).status).toBe(401)
  const counting = job({
    name: 'test.count',
    payload: z.object({ accountId: z.string() }),
    async run({ pipeline }) {
      await test.db.query('test.count', 'SELECT 1 AS one')
      pipeline.clock.now()
    },
  })
  await counting.execute(test.app.pipeline, { accountId: agent.id })
  await exporting.stop()

  const spans = spansOf(received)
  const posted = spans.find(({ name }) => name === 'POST /v1/knowledge')
  expect(posted).toMatchObject({ traceId: clientTrace, parentSpanId: '00f067aa0ba902b7' })
  expect(posted && attribute(posted, 'http.response.status_code')).toBe(201)
  // The client chose this id.
  expect(posted && attribute(posted, 'kp.request_id')).toBeUndefined()
  expect(spans.some(({ traceId, parentSpanId }) => traceId === clientTrace && parentSpanId === posted?.spanId)).toBe(
    true,
  )
  const got = spans.filter(({ name }) => name === 'GET /v1/knowledge/{id}')
  expect(got.map((span) => attribute(span, 'http.response.status_code'))).toEqual([read.status, 401])
  expect(got.map((span) => attribute(span, 'kp.request_id'))).toContain(read.headers.get('x-request-id'))
  const [run] = spans.filter(({ name }) => name === 'test.count')
  const ofJob = spans.filter(({ traceId }) => traceId === run?.traceId)
  expect(ofJob.map((span) => attribute(span, 'kp.job') ?? attribute(span, 'db.operation.name')).sort()).toEqual([
    'test.count',
    'test.count',
  ])

  const metrics = received
    .filter(({ path }) => path === '/v1/metrics')
    .flatMap(({ body }) => body.resourceMetrics)
    .flatMap(({ scopeMetrics }) => scopeMetrics)
    .flatMap(({ metrics }) => metrics)
  const scraped = await test.fetch('GET', '/metrics', await issuedAgent(test, ['admin']))
  const names = new Set(metrics.map(({ name }) => name))
  for (const [, name = '', type] of scraped.text.matchAll(/^# TYPE (\S+) (\S+)$/gm))
    expect([...names], `${name} ${type}`).toContain(name)
  const answers = metrics.find(({ name }) => name === 'kp_answers_total')
  expect(answers.sum).toMatchObject({ isMonotonic: true, aggregationTemporality: 2 })
  const answered = answers.sum.dataPoints.map(
    ({ attributes, asDouble }: { attributes: Span['attributes']; asDouble: number }) => [
      ...attributes.map(({ value }) => value.stringValue),
      asDouble,
    ],
  )
  expect(answered).toContainEqual(['contributeUnit', '201', 1])
  const [times] = metrics.find(({ name }) => name === 'kp_answer_seconds').histogram.dataPoints
  const counted = times.bucketCounts.map(Number).reduce((sum: number, count: number) => sum + count, 0)
  expect([times.bucketCounts.length, counted]).toEqual([times.explicitBounds.length + 1, Number(times.count)])
  expect(metrics.find(({ name }) => name === 'kp_jobs').gauge.dataPoints).toHaveLength(5)

  const sent = received.map(({ text }) => text).join('\n')
  for (const secret of ['Harlingen', 'wish-of-wim', agent.token, agent.id, made.json.data.id, 'kp_0000'])
    expect(sent, secret).not.toContain(secret)
})

test('a collector that does not answer delays neither requests nor the end of the process', async () => {
  let [received, ended] = [0, 0]
  const server = createServer((_request, response) => {
    received++
    response.once('close', () => ended++)
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  const test = await testApp({
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`,
  })
  onTestFinished(test.close)
  const exporting = await test.app.exportTelemetry()
  const log = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  onTestFinished(() => log.mockRestore())
  expect((await test.fetch('GET', '/health')).status).toBe(200)
  await exporting.stop()
  // The exporter still waits for the collector, which it gives up only after its own timeout.
  expect(ended).toBe(0)
  await expect.poll(() => received, { timeout: 60_000 }).toBeGreaterThan(0)
})
