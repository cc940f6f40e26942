import type { Prisma } from '#generated/prisma/client.ts'
import type { RequestCause } from '#lib/domains/privacy-requests/erasures/contract.ts'
import {
  cause,
  causesOfDelays,
  causesOfRun,
  type Delay,
  delaysOf,
} from '#lib/domains/privacy-requests/erasures/run-causes.ts'
import { isFetchedOrDeleted } from '#lib/domains/privacy-requests/execution/execution.ts'
import { type RequestRow, requestPartOf } from '#lib/domains/privacy-requests/requests.ts'
import type { Story } from '#lib/domains/privacy-requests/views.ts'

const hour = 3_600_000

/** Copies that could not be prepared, with the stored code of the error. */
const failedCopies = ({ parts }: RequestRow): RequestCause[] =>
  parts.flatMap(({ state, outcome }) => {
    const { copy, fault } = outcome as Prisma.JsonObject
    if (state !== 'failed' || copy !== 'failed') return []
    return [cause('copy_failed', { fault: typeof fault === 'string' ? fault : null })]
  })

/** Copies that are to be downloaded first: ready ones, and those that are still prepared. */
function openCopies({ parts }: RequestRow): RequestCause[] {
  const copies = parts
    .filter((part) => !isFetchedOrDeleted(part))
    .map(({ outcome }) => (outcome as Prisma.JsonObject).copy)
  const codes = copies.filter((copy) => copy !== 'failed').map((copy) => (copy === 'ready' ? 'copy' : 'copy_preparing'))
  return [...new Set(codes)].map((code) => cause(code))
}

/** What an erasure that has not begun waits for. */
function causesOfWaiting(row: RequestRow, { events }: Story, now: Date): RequestCause[] {
  if (row.waitingUntil !== null && row.waitingUntil > now) return [cause('grace')]
  return events.some(({ event }) => event === 'blocked') ? [cause('last_admin')] : openCopies(row)
}

/** Why an open request is not answered yet. */
function causesOfOpen(row: RequestRow, story: Story, now: Date): RequestCause[] {
  const isForAdmin = row.parts.some(
    ({ state, outcome }) => state === 'running' && (outcome as Prisma.JsonObject).waits_for === 'admin',
  )
  // After a withdrawn confirmation, other parts have begun already.
  if (row.state === 'received') return [cause('unverified'), ...(isForAdmin ? [cause('decision')] : [])]
  const found = [
    ...failedCopies(row),
    ...(isForAdmin ? [cause('decision')] : []),
    ...(row.state === 'waiting' ? causesOfWaiting(row, story, now) : []),
    ...(story.run ? causesOfRun(story.run, now) : []),
  ]
  return found.length === 0 && (row.state === 'running' || row.state === 'verifying') ? [cause('in_progress')] : found
}

/** How long an erasure that was due waited for the preparation of each copy, and then for its download. */
const copyDelays = (
  { parts }: RequestRow,
  { events }: Story,
  { due, begun }: { due: number; begun: number },
): Delay[] =>
  parts.flatMap(({ kind, outcome }) => {
    const { export_id, copy } = outcome as Prisma.JsonObject
    if (export_id === undefined || copy === 'failed') return []
    const made = events.filter(
      ({ details, at }) => (details as Prisma.JsonObject).kind === kind && at.getTime() <= begun,
    )
    const last = (...names: string[]) => made.findLast(({ event }) => names.includes(event))?.at.getTime() ?? begun
    const ready = last('copy_ready')
    const delays: Delay[] = [
      { code: 'copy_preparing', from: due, to: ready },
      { code: 'copy', from: Math.max(due, ready), to: last('copy_fetched', 'copy_gone') },
    ]
    return delays.filter(({ from, to }) => to - from > hour)
  })

/** Why an erasure was completed late, from its timeline and the times of its run. */
function causesOfLate(row: RequestRow, story: Story): RequestCause[] {
  const due = Math.max(row.verifiedAt?.getTime() ?? 0, row.waitingUntil?.getTime() ?? 0)
  const begun = requestPartOf(row, 'erasure')?.startedAt?.getTime() ?? due
  const delays = [...delaysOf(story.events, new Date(due)), ...copyDelays(row, story, { due, begun })]
  const free = Math.max(due, ...delays.filter(({ from }) => from < begun).map(({ to }) => to))
  return [...(begun - free > hour ? [cause('late_start')] : []), ...causesOfDelays(delays, story.run)]
}

/** Why a request is overdue or was completed late, as far as it is recorded. */
export function causesOfRequest(row: RequestRow, story: Story, now: Date): RequestCause[] {
  const isErased = requestPartOf(row, 'erasure')?.state === 'done'
  return isErased ? causesOfLate(row, story) : causesOfOpen(row, story, now)
}
