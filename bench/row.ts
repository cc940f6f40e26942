/** One measurement with its bounds. */
export type BenchRow = {
  name: string
  value: number
  unit: string
  /** The reference value, measured in the same run and unit. */
  ceiling?: { name: string; value: number }
  /** value : ceiling, when it is a median of pairs instead of the quotient. */
  ratio?: number
  bar?: string
  met?: boolean
  /** Omitted from the tables while its bar is met. The results file contains it. */
  isDetail?: boolean
}

export const ratioOf = ({ value, ceiling, ratio }: BenchRow): number | undefined =>
  ratio ?? (ceiling && value / ceiling.value)

/** The median. NaN for no values. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}

/** A row of what must not happen at all. */
export const noneRow = (name: string, value: number, unit: string): BenchRow => ({
  name,
  value,
  unit,
  bar: '0',
  met: value === 0,
})

/** A row of requests per second that must reach a share of its ceiling in the same run. */
export function shareRow(
  name: string,
  ours: readonly number[],
  ceiling: { name: string; values: readonly number[] },
  least?: number,
): BenchRow {
  const row: BenchRow = {
    name,
    value: Math.round(median(ours)),
    unit: 'requests/s',
    ceiling: { name: ceiling.name, value: Math.round(median(ceiling.values)) },
  }
  if (least === undefined) return row
  return { ...row, bar: `at least ${least} ×`, met: (ratioOf(row) ?? 0) >= least }
}
