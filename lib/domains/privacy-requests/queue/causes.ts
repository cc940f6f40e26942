import type { Prisma } from '#generated/prisma/client.ts'
import { cause, causesOfRun, delaysOf, slowest } from '#lib/domains/privacy-requests/erasures/causes.ts'
import type { RequestCause } from '#lib/domains/privacy-requests/erasures/contract.ts'
import { hasCopiesToFetch } from '#lib/domains/privacy-requests/execution/erasure-start.ts'
import type { Story } from '#lib/domains/privacy-requests/reading.ts'
import { type RequestRow, requestPartOf } from '#lib/domains/privacy-requests/requests.ts'

const hour = 3_600_000

/** Copies that could not be prepared, with the stored code of the error. */
const failedCopies = ({ parts }: RequestRow): RequestCause[] =>
  parts.flatMap(({ state, outcome }) => {
    const { copy, fault } = outcome as Prisma.JsonObject
    if (state !== 'failed' || copy !== 'failed') return []
    return [cause('copy_failed', { fault: typeof fault === 'string' ? fault : null })]
  })

/** What an erasure that has not begun waits for. */
function causesOfWaiting(row: RequestRow, { events }: Story, now: Date): RequestCause[] {
  if (row.waitingUntil !== null && row.waitingUntil > now) return [cause('grace')]
  if (events.some(({ event }) => event === 'blocked')) return [cause('last_admin')]
  return hasCopiesToFetch(row) && failedCopies(row).length === 0 ? [cause('copy')] : []
}

/** Why an open request is not answered yet. */
function causesOfOpen(row: RequestRow, story: Story, now: Date): RequestCause[] {
  if (row.state === 'received') return [cause('unverified')]
  const isForAdmin = row.parts.some(
    ({ state, outcome }) => state === 'running' && (outcome as Prisma.JsonObject).waits_for === 'admin',
  )
  const found = [
    ...failedCopies(row),
    ...(isForAdmin ? [cause('decision')] : []),
    ...(row.state === 'waiting' ? causesOfWaiting(row, story, now) : []),
    ...(story.run ? causesOfRun(story.run, now) : []),
  ]
  return found.length === 0 && (row.state === 'running' || row.state === 'verifying') ? [cause('in_progress')] : found
}

/** Why an erasure was completed late, from its timeline and the times of its run. */
function causesOfLate(row: RequestRow, { events, run }: Story): RequestCause[] {
  const due = Math.max(row.verifiedAt?.getTime() ?? 0, row.waitingUntil?.getTime() ?? 0)
  const begun = requestPartOf(row, 'erasure')?.startedAt?.getTime() ?? due
  const hasCopy = row.parts.some(({ outcome }) => (outcome as Prisma.JsonObject).export_id !== undefined)
  const found = delaysOf(events)
  if (found.length > 0) return found
  if (begun - due > hour) return [cause(hasCopy ? 'copy' : 'late_start')]
  return run ? slowest(run) : []
}

/** Why a request is overdue or was completed late, as far as it is recorded. */
export function causesOfRequest(row: RequestRow, story: Story, now: Date): RequestCause[] {
  const isErased = requestPartOf(row, 'erasure')?.state === 'done'
  return isErased ? causesOfLate(row, story) : causesOfOpen(row, story, now)
}
