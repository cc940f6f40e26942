import { expect, onTestFinished, test, vi } from 'vitest'
import { createMetrics } from './metrics.ts'

test('metrics return gauges and summaries in Prometheus’ format, and report a failing source without losing the others', async () => {
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
  metrics.answered('readReceipt', 200, 0.02)
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

test('metrics return the measures of the process, and only the responses of their own application, when a process has two applications', async () => {
  const [one, other] = [createMetrics(), createMetrics()]
  one.answered('readReceipt', 200, 0.02)
  const texts = [await one.text(new Date()), await other.text(new Date())]
  for (const text of texts) expect(text.match(/^kp_process_resident_memory_bytes \d+$/gm)).toHaveLength(1)
  expect(texts.map((text) => text.includes('kp_answers_total{operation="readReceipt"'))).toEqual([true, false])
})
