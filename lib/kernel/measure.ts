/** One number of a measure, with its labels: kinds and states, nobody's id. */
export interface Sample {
  labels?: Readonly<Record<string, string>>
  value: number
}
/** What Prometheus is told beside what the process counts itself, as it stands when it asks. */
export interface Measure {
  /** Ends in its unit, where it has one: seconds. */
  name: `kp_${string}`
  help: string
  type: 'gauge' | 'summary'
  samples: readonly Sample[]
  /** Of a summary. */
  sum?: number
  count?: number
}
/** Asks one store, in one round trip where it can: it is asked again every few seconds. */
export interface Measuring {
  /** Of what it is. */
  name: string
  measure(now: Date): Promise<readonly Measure[]>
}
