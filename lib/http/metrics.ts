import {
  Counter,
  collectDefaultMetrics,
  Histogram,
  type MetricObjectWithValues,
  type MetricValue,
  Registry,
} from 'prom-client'
import { memoize } from '#lib/kernel/concurrency.ts'
import { logFault } from '#lib/kernel/fault-log.ts'
import type { Measure, Measuring, MetricSample } from '#lib/kernel/measure.ts'

/** Prometheus' text format, version 0.0.4. */
const escaped = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
const line = (name: string, { labels = {}, value }: MetricSample): string => {
  const named = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`)
  return `${name}${named.length > 0 ? `{${named.join(',')}}` : ''} ${value}`
}
const textOf = ({ name, help, type, samples, sum, count }: Measure): string =>
  [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} ${type}`,
    ...samples.map((sample) => line(name, sample)),
    ...(sum === undefined ? [] : [line(`${name}_sum`, { value: sum })]),
    ...(count === undefined ? [] : [line(`${name}_count`, { value: count })]),
    '',
  ].join('\n')

/** The metrics of every source. A source that fails is omitted and reported: a guess would hide an outage. */
async function measured(sources: readonly Measuring[], now: Date): Promise<readonly Measure[]> {
  const found = await Promise.all(
    sources.map(async (source) => {
      try {
        return { source, measures: await source.measure(now) }
      } catch (error) {
        logFault(error, { operationId: 'readMetrics', measuring: source.name })
        return { source, measures: undefined }
      }
    }),
  )
  const answered: Measure = {
    name: 'kp_measured',
    help: '1 if the source of these gauges answered, otherwise 0',
    type: 'gauge',
    samples: found.map(({ source, measures }) => ({ labels: { of: source.name }, value: measures ? 1 : 0 })),
  }
  return [answered, ...found.flatMap(({ measures = [] }) => measures)]
}

/** One metric with its current values, for exporters of other formats. */
export interface MetricReading {
  name: string
  help: string
  type: 'counter' | 'gauge' | 'histogram'
  samples: readonly MetricSample[]
  /** Only for a histogram: `counts` has one number more than `bounds`, and none includes another. */
  histograms?: readonly {
    labels: Readonly<Record<string, string>>
    bounds: readonly number[]
    counts: readonly number[]
    sum: number
    count: number
  }[]
}

const labelsOf = ({ labels }: MetricValue<string>): Record<string, string> =>
  Object.fromEntries(Object.entries(labels).map(([label, value]) => [label, String(value)]))

/** The histograms of one metric, from the cumulative buckets that Prometheus' format has. */
function histogramsOf(values: readonly (MetricValue<string> & { metricName?: string })[], name: string) {
  const found = new Map<string, { labels: Record<string, string>; bounds: number[]; upTo: number[]; sum: number }>()
  for (const value of values) {
    const { le, ...labels } = labelsOf(value)
    const key = JSON.stringify(labels)
    const one = found.get(key) ?? { labels, bounds: [], upTo: [], sum: 0 }
    found.set(key, one)
    if (value.metricName === `${name}_sum`) one.sum = value.value
    if (le === undefined) continue
    if (le !== '+Inf') one.bounds.push(Number(le))
    one.upTo.push(value.value)
  }
  return [...found.values()].map(({ labels, bounds, upTo, sum }) => ({
    labels,
    bounds,
    counts: upTo.map((count, n) => count - (upTo[n - 1] ?? 0)),
    sum,
    count: upTo.at(-1) ?? 0,
  }))
}

function readingOf({ name, help, type, values }: MetricObjectWithValues<MetricValue<string>>): MetricReading {
  const kind: string = String(type)
  if (kind === 'histogram')
    return { name, help, type: 'histogram', samples: [], histograms: histogramsOf(values, name) }
  const samples = values.map((value) => ({ labels: labelsOf(value), value: value.value }))
  return { name, help, type: kind === 'counter' ? 'counter' : 'gauge', samples }
}

function readingsOf({ name, help, samples, sum, count }: Measure): MetricReading[] {
  const totals = Object.entries({ sum, count }).flatMap(([part, value]): MetricReading[] =>
    value === undefined ? [] : [{ name: `${name}_${part}`, help, type: 'counter', samples: [{ value }] }],
  )
  return [{ name, help, type: 'gauge', samples }, ...totals]
}

/** Memory, processor time, event loop and garbage collection of this process, registered once for all its applications. */
const processRegistry = memoize(() => {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, prefix: 'kp_' })
  return registry
})

/**
 * Metrics for Prometheus: operations, statuses and problem codes of this process, and what `sources` measure for the whole installation
 * at each scrape. Labels never contain ids of persons or agents, or addresses.
 */
export function createMetrics(sources: () => readonly Measuring[] = () => []) {
  const registry = new Registry()
  const ofProcess = processRegistry()
  const answers = new Counter({
    name: 'kp_answers_total',
    help: 'Responses by operation and status',
    labelNames: ['operation', 'status'],
    registers: [registry],
  })
  const refusals = new Counter({
    name: 'kp_refusals_total',
    help: 'Rejections by problem code',
    labelNames: ['code'],
    registers: [registry],
  })
  const durations = new Histogram({
    name: 'kp_answer_seconds',
    help: 'Time to the response, or to the beginning of a streamed one, by operation',
    labelNames: ['operation'],
    buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15],
    registers: [registry],
  })
  return {
    answered(operation: string, status: number, seconds: number): void {
      answers.inc({ operation, status })
      durations.observe({ operation }, seconds)
    },
    refused: (code: string): void => refusals.inc({ code }),
    contentType: registry.contentType,
    text: async (now: Date): Promise<string> =>
      [
        await ofProcess.metrics(),
        await registry.metrics(),
        (await measured(sources(), now)).map(textOf).join('\n'),
      ].join('\n'),
    readings: async (now: Date): Promise<readonly MetricReading[]> => [
      ...(await ofProcess.getMetricsAsJSON()).map(readingOf),
      ...(await registry.getMetricsAsJSON()).map(readingOf),
      ...(await measured(sources(), now)).flatMap(readingsOf),
    ],
  }
}
export type Metrics = ReturnType<typeof createMetrics>
