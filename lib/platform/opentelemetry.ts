import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { type Attributes, type HrTime, ROOT_CONTEXT, ValueType } from '@opentelemetry/api'
import type { ExportResult } from '@opentelemetry/core'
import type { DataPoint, Histogram, MetricData, MetricDescriptor, MetricProducer } from '@opentelemetry/sdk-metrics'
import type { Env } from '#lib/config/env.ts'
import type { MetricReading } from '#lib/http/metrics.ts'
import { logNotice } from '#lib/kernel/fault-log.ts'
import { recordSpans } from '#lib/kernel/tracing.ts'

/** Milliseconds between two exports of metrics. */
const interval = 30_000

const highResolution = (time: Date): HrTime => [Math.floor(time.getTime() / 1000), (time.getTime() % 1000) * 1_000_000]

/** Milliseconds that a stopping process waits for the collector. */
const patience = 2_000

interface Exporter<B> {
  export(batch: B, done: (result: ExportResult) => void): void
}
/** Logs when the collector begins to refuse, and when it accepts again. What it refused is lost: it is copied nowhere else. */
function noticed<B, E extends Exporter<B>>(exporter: E, what: string): E {
  const send = exporter.export.bind(exporter)
  let isRefused = false
  exporter.export = (batch, done) =>
    send(batch, (result) => {
      const isNow = result.code !== 0
      if (isNow !== isRefused)
        logNotice(`the collector of OTEL_EXPORTER_OTLP_ENDPOINT ${isNow ? 'does not accept' : 'accepts'} ${what}`)
      isRefused = isNow
      done(result)
    })
  return exporter
}

type Sdk = typeof import('@opentelemetry/sdk-metrics')

/** The same metrics as `GET /metrics`, in the data model of OTLP. Quantiles of summaries become gauges. */
function otlpMetrics(
  { AggregationTemporality, DataPointType }: Pick<Sdk, 'AggregationTemporality' | 'DataPointType'>,
  readings: readonly MetricReading[],
  since: Date,
  now: Date,
): MetricData[] {
  const [startTime, endTime] = [highResolution(since), highResolution(now)]
  const aggregationTemporality = AggregationTemporality.CUMULATIVE
  const point = <T>(attributes: Attributes, value: T): DataPoint<T> => ({ startTime, endTime, attributes, value })
  const described = (name: string, description: string): MetricDescriptor => ({
    name,
    description,
    unit: name.endsWith('_seconds') ? 's' : name.endsWith('_bytes') ? 'By' : '',
    valueType: ValueType.DOUBLE,
  })
  return readings.flatMap(({ name, help, type, samples, histograms = [] }): MetricData[] => {
    const descriptor = described(name, help)
    if (type === 'histogram') {
      const dataPoints = histograms.map(({ labels, bounds, counts, sum, count }) =>
        point<Histogram>(labels, { buckets: { boundaries: [...bounds], counts: [...counts] }, sum, count }),
      )
      return [{ descriptor, aggregationTemporality, dataPointType: DataPointType.HISTOGRAM, dataPoints }]
    }
    const dataPoints = samples.map(({ labels = {}, value }) => point<number>(labels, value))
    return type === 'counter'
      ? [{ descriptor, aggregationTemporality, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints }]
      : [{ descriptor, aggregationTemporality, dataPointType: DataPointType.GAUGE, dataPoints }]
  })
}

/**
 * Sends traces and metrics to the collector of `OTEL_EXPORTER_OTLP_ENDPOINT` by OTLP over HTTP; does nothing without it. The exporters
 * read the other standard variables (`OTEL_EXPORTER_OTLP_HEADERS`, `…_TIMEOUT`) themselves. Its packages are loaded only then.
 */
export async function exportTelemetry(
  env: Env,
  version: string,
  read: (now: Date) => Promise<readonly MetricReading[]>,
): Promise<{ stop(): Promise<void> }> {
  if (env.OTEL_EXPORTER_OTLP_ENDPOINT === undefined) return { stop: async () => {} }
  const collector = env.OTEL_EXPORTER_OTLP_ENDPOINT.replace(/\/$/, '')
  const [core, resources, sdkTrace, sdkMetrics, { OTLPTraceExporter }, { OTLPMetricExporter }] = await Promise.all([
    import('@opentelemetry/core'),
    import('@opentelemetry/resources'),
    import('@opentelemetry/sdk-trace'),
    import('@opentelemetry/sdk-metrics'),
    import('@opentelemetry/exporter-trace-otlp-http'),
    import('@opentelemetry/exporter-metrics-otlp-http'),
  ])
  const resource = resources.resourceFromAttributes({
    'service.name': env.OTEL_SERVICE_NAME,
    'service.version': version,
    'service.instance.id': randomUUID(),
  })
  // What a client says about its trace must not decide what we record.
  const share = new sdkTrace.TraceIdRatioBasedSampler(env.OTEL_TRACES_SAMPLER_ARG)
  const spans = new sdkTrace.TracerProvider({
    resource,
    sampler: new sdkTrace.ParentBasedSampler({
      root: share,
      remoteParentSampled: share,
      remoteParentNotSampled: share,
    }),
    spanProcessors: [
      new sdkTrace.BatchSpanProcessor({
        exporter: noticed(new OTLPTraceExporter({ url: `${collector}/v1/traces` }), 'traces'),
      }),
    ],
  })
  const propagator = new core.W3CTraceContextPropagator()
  recordSpans({
    tracer: spans.getTracer('knowledgepulse', version),
    continued: (traceparent) =>
      propagator.extract(ROOT_CONTEXT, { traceparent }, { get: () => traceparent, keys: () => ['traceparent'] }),
  })

  const since = new Date()
  const producer: MetricProducer = {
    async collect() {
      const now = new Date()
      const metrics = otlpMetrics(sdkMetrics, await read(now), since, now)
      return {
        resourceMetrics: { resource, scopeMetrics: [{ scope: { name: 'knowledgepulse', version }, metrics }] },
        errors: [],
      }
    },
  }
  const meters = new sdkMetrics.MeterProvider({
    resource,
    readers: [
      new sdkMetrics.PeriodicExportingMetricReader({
        exporter: noticed(new OTLPMetricExporter({ url: `${collector}/v1/metrics` }), 'metrics'),
        exportIntervalMillis: interval,
        exportTimeoutMillis: 10_000,
        metricProducers: [producer],
      }),
    ],
  })
  return {
    async stop() {
      recordSpans(undefined)
      const sent = Promise.allSettled([spans.shutdown(), meters.shutdown()])
      await Promise.race([sent, delay(patience, undefined, { ref: false })])
    },
  }
}
