import { Counter, collectDefaultMetrics, Registry } from 'prom-client'
import { logFault } from '#lib/kernel/fault-log.ts'
import type { Measure, Measuring, MetricSample } from '#lib/kernel/measure.ts'
import { memoize } from '#lib/kernel/memoize.ts'

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
async function measured(sources: readonly Measuring[], now: Date): Promise<string> {
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
  return [answered, ...found.flatMap(({ measures = [] }) => measures)].map(textOf).join('\n')
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
  return {
    answered: (operation: string, status: number): void => answers.inc({ operation, status }),
    refused: (code: string): void => refusals.inc({ code }),
    contentType: registry.contentType,
    text: async (now: Date): Promise<string> =>
      [await ofProcess.metrics(), await registry.metrics(), await measured(sources(), now)].join('\n'),
  }
}
export type Metrics = ReturnType<typeof createMetrics>
