import type { Snapshot } from './endpoints.ts'

type Dated = Pick<Snapshot, 'created_at' | 'expires_at'>
/** The remaining time as a level: `little` means less than a quarter. */
export function clockOf({ created_at, expires_at }: Dated, now: Date): 'stays' | 'plenty' | 'little' | 'over' {
  if (expires_at === null) return 'stays'
  const [from, until, at] = [Date.parse(created_at), Date.parse(expires_at), now.getTime()]
  if (at >= until) return 'over'
  return (until - at) * 4 < until - from ? 'little' : 'plenty'
}

/** Milliseconds until the next poll; false if no snapshot is being made. */
export const snapshotPollInterval = (rows: readonly Pick<Snapshot, 'state'>[]): number | false =>
  rows.some(({ state }) => state === 'preparing') ? 1_500 : false

/** The newest snapshot that is ready. */
export const newestReady = <S extends Pick<Snapshot, 'state' | 'created_at'>>(rows: readonly S[]): S | undefined =>
  rows
    .filter(({ state }) => state === 'ready')
    .toSorted((left, right) => right.created_at.localeCompare(left.created_at))[0]
