/** One number of a metric, with its labels: kinds and states, never ids of persons or agents. */
export interface MetricSample {
  labels?: Readonly<Record<string, string>>
  value: number
}
/** A metric that is measured when Prometheus scrapes, in addition to the counters of the process. */
export interface Measure {
  /** Ends in the unit, if it has one: seconds. */
  name: `kp_${string}`
  help: string
  type: 'gauge' | 'summary'
  samples: readonly MetricSample[]
  /** The sum of the measured values, for metrics of the type summary. */
  sum?: number
  count?: number
}
/** Measures one store, in one round trip if possible, because it is called every few seconds. */
export interface Measuring {
  /** The name of what it measures. */
  name: string
  measure(now: Date): Promise<readonly Measure[]>
}
