import { expect, onTestFinished, test, vi } from 'vitest'
import { isLocalRequest } from '#lib/access/client-address.ts'
import { createMetrics } from './metrics.ts'

const headers = (given: Record<string, string>) => ({ get: (name: string) => given[name] ?? null })

test.each<[string, string | undefined, Record<string, string>, boolean]>([
  ['IPv4', '127.0.0.1', { host: 'localhost:3000' }, true],
  ['IPv4 inside IPv6', '::ffff:127.0.0.1', { host: '127.0.0.1:3000' }, true],
  ['IPv6', '::1', { host: '[::1]:3000' }, true],
  ['another machine', '10.0.0.7', { host: 'localhost:3000' }, false],
  [
    'another machine that claims to be this one',
    '10.0.0.7',
    { host: 'localhost', 'x-forwarded-for': '127.0.0.1' },
    false,
  ],
  ['no socket', undefined, { host: 'localhost' }, false],
  ['a proxy on this machine', '127.0.0.1', { host: 'localhost', 'x-forwarded-for': '203.0.113.9' }, false],
  ['a proxy that names nobody', '127.0.0.1', { host: 'localhost', 'x-forwarded-for': '' }, false],
  ['a proxy of another habit', '127.0.0.1', { host: 'localhost', forwarded: 'for=203.0.113.9' }, false],
  ['a proxy by its trace', '127.0.0.1', { host: 'localhost', via: '1.1 proxy' }, false],
  ['a proxy that passes the name on', '127.0.0.1', { host: 'registry.example.org' }, false],
  ['a page whose name resolves to this machine', '127.0.0.1', { host: 'localhost.example.org:3000' }, false],
  ['no name', '127.0.0.1', {}, false],
])('a request from this machine itself: %s', (_, socket, given, isLocal) => {
  expect(isLocalRequest(socket, headers(given))).toBe(isLocal)
})

test('gauges and summaries are written as Prometheus reads them; a source that fails is said to, and the others stay', async () => {
  const log = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  onTestFinished(() => log.mockRestore())
  const metrics = createMetrics(() => [
    {
      name: 'good',
      measure: async () => [
        { name: 'kp_states', help: 'By state', type: 'gauge', samples: [{ labels: { state: 'a"\\\nb' }, value: 2 }] },
        {
          name: 'kp_seconds',
          help: 'How long',
          type: 'summary',
          samples: [{ labels: { quantile: '0.5' }, value: 1.5 }],
          sum: 3,
          count: 2,
        },
      ],
    },
    { name: 'down', measure: () => Promise.reject(new Error('no answer')) },
  ])
  metrics.answered('readReceipt', 200)
  const text = await metrics.text(new Date())
  expect(text).toContain('# TYPE kp_states gauge\nkp_states{state="a\\"\\\\\\nb"} 2\n')
  expect(text).toContain(
    '# TYPE kp_seconds summary\nkp_seconds{quantile="0.5"} 1.5\nkp_seconds_sum 3\nkp_seconds_count 2\n',
  )
  expect(text).toContain('kp_measured{of="good"} 1\nkp_measured{of="down"} 0\n')
  expect(text).toContain('kp_answers_total{operation="readReceipt",status="200"} 1')
  for (const line of text.split('\n'))
    expect(line).toMatch(
      /^$|^# (HELP|TYPE) \w+ .+$|^\w+(\{(\w+="(?:[^"\\\n]|\\.)*",?)+\})? (-?[\d.e+-]+|[Nn]a[Nn]|\+Inf)$/,
    )
})

test('metrics return the measures of the process, and only their own answers, when a process has two applications', async () => {
  const [one, other] = [createMetrics(), createMetrics()]
  one.answered('readReceipt', 200)
  const texts = [await one.text(new Date()), await other.text(new Date())]
  for (const text of texts) expect(text.match(/^kp_process_resident_memory_bytes \d+$/gm)).toHaveLength(1)
  expect(texts.map((text) => text.includes('kp_answers_total{operation="readReceipt"'))).toEqual([true, false])
})
