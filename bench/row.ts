/** One measurement, with what bounds it beside it. */
export type Row = {
  name: string
  value: number
  unit: string
  /** What it is compared with: measured in the same run, in the same unit. */
  ceiling?: { name: string; value: number }
  /** value : ceiling, where it is not the one divided by the other but a median of pairs. */
  ratio?: number
  bar?: string
  met?: boolean
  /** Left out of the tables as long as its bar is met; the results file has it. */
  isDetail?: boolean
}

export const ratioOf = ({ value, ceiling, ratio }: Row): number | undefined =>
  ratio ?? (ceiling && value / ceiling.value)

/** The middle value, or the mean of the two middle ones. NaN of none. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}

/** A row of requests per second that must reach a share of its ceiling, in the same run. */
export function shareRow(
  name: string,
  ours: readonly number[],
  ceiling: { name: string; values: readonly number[] },
  least?: number,
): Row {
  const row: Row = {
    name,
    value: Math.round(median(ours)),
    unit: 'requests/s',
    ceiling: { name: ceiling.name, value: Math.round(median(ceiling.values)) },
  }
  if (least === undefined) return row
  return { ...row, bar: `at least ${least} ×`, met: (ratioOf(row) ?? 0) >= least }
}
