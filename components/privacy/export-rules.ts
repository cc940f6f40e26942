import type { ExportView } from '#lib/domains/exports/contract.ts'

const units = ['byte', 'kilobyte', 'megabyte', 'gigabyte'] as const
/** A size in the largest unit in which it is at least one, with the unit name that Intl uses. */
export function exportSizeOf(bytes: number): { value: number; unit: (typeof units)[number] } {
  const step = Math.min(units.length - 1, bytes < 1 ? 0 : Math.floor(Math.log10(bytes) / 3))
  return { value: bytes / 1_000 ** step, unit: units[step] ?? 'byte' }
}

type Export = Pick<ExportView, 'state' | 'fault' | 'expires_at'>
export type ExportStatus = ExportView['state'] | 'erased'
/** The current state of an export. An export expires by the clock, even before the cleanup job has removed its file. */
export function exportStatus({ state, fault, expires_at: until }: Export, now: Date): ExportStatus {
  if (state === 'queued' || state === 'running' || state === 'failed') return state
  if (fault === 'erased') return 'erased'
  return state === 'expired' || (until !== null && Date.parse(until) <= now.getTime()) ? 'expired' : 'ready'
}

/** A file that the person has not downloaded. A deletion of their data deletes it. */
export const isUnfetched = (one: Export & Pick<ExportView, 'downloaded_at'>, now: Date): boolean =>
  exportStatus(one, now) === 'ready' && one.downloaded_at === null

/**
 * Returns the files that are not downloaded, and those that the page has `seen` so and that are downloaded by now: their links may have the
 * focus.
 */
export const filesToFetch = <E extends Export & Pick<ExportView, 'id' | 'downloaded_at'>>(
  list: readonly E[],
  seen: ReadonlySet<string>,
  now: Date,
): E[] => list.filter((one) => isUnfetched(one, now) || (seen.has(one.id) && exportStatus(one, now) === 'ready'))

/** Milliseconds until the next poll of the exports; false if nothing changes without a user action. */
export function exportPollInterval(list: readonly Pick<ExportView, 'state' | 'downloaded_at'>[]): number | false {
  if (list.some(({ state }) => state === 'queued' || state === 'running')) return 1_500
  return list.some(({ state, downloaded_at: at }) => state === 'ready' && at === null) ? 10_000 : false
}
