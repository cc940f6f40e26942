import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { RequestRefused, type ResponseOf } from '#lib/client/request.ts'
import { contributeBatch, readUnit, type Unit } from '#lib/domains/knowledge/contract.ts'
import { sanitizeFields } from '#lib/domains/sanitizer/sanitizer.ts'
import type { ContributionOutcome } from './contribution-outcome.ts'
import type { CommandSession } from './session.ts'
import { described } from './unit-judgement.ts'

/** A unit to send. Its id makes repetitions harmless. */
export interface Pending {
  source: string
  key: string
  unit: Unit
  /** Whether the file contained the id. Otherwise it was derived from the content. */
  isNamed: boolean
  bytes: number
}
export interface BatchBounds {
  /** Units per request and bytes per unit, as the tier allows. */
  units: number
  unitBytes: number
}

/** Maximum bytes per request in every tier, to keep responses fast. */
const maxBytes = 8 * 1024 * 1024
/** How often a briefly unavailable registry is tried again. */
const maxTries = 4

/** Retries while the registry is busy, with one idempotency key so that nothing is done twice. */
export async function patiently<T>(
  ask: (idempotencyKey: string) => Promise<T>,
  key: string = randomUUID(),
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await ask(key)
    } catch (error) {
      const isBusy =
        error instanceof RequestRefused &&
        (error.problem.code === 'unavailable' || error.problem.code === 'idempotency_in_progress')
      if (!isBusy || attempt === maxTries) throw error
      await delay(Math.min(30, error.retryAfter ?? 2) * 1000)
    }
  }
}

/** Whether a batch has room for another unit. A batch contains each id once. */
export function hasRoom(pending: readonly Pending[], next: Pending, { units, unitBytes }: BatchBounds): boolean {
  const bytes = pending.reduce((sum, one) => sum + one.bytes + 1, 64)
  return (
    pending.length < units &&
    bytes + next.bytes <= Math.min(maxBytes, units * unitBytes) &&
    !pending.some((one) => one.unit.id !== undefined && one.unit.id === next.unit.id)
  )
}

type Answer = ResponseOf<typeof contributeBatch>['body']['data'][number] & { requestId: string | null }

/** Sends one request. When it is too large, or rejected without naming an item, sends two halves. */
async function sendBatch(session: CommandSession, pending: readonly Pending[]): Promise<Map<Pending, Answer>> {
  try {
    const { body, headers } = await patiently((idempotencyKey) =>
      session.call(contributeBatch, { body: { units: pending.map(({ unit }) => unit) } }, { idempotencyKey }),
    )
    return new Map(
      body.data.flatMap((answer) => {
        const one = pending[answer.index]
        return one ? [[one, { ...answer, requestId: headers.get('x-request-id') }] as const] : []
      }),
    )
  } catch (error) {
    const isDivisible =
      error instanceof RequestRefused &&
      (error.problem.status === 413 || error.problem.status === 422 || error.problem.status === 400)
    if (!isDivisible || pending.length === 1) throw error
    const middle = Math.ceil(pending.length / 2)
    return new Map([
      ...(await sendBatch(session, pending.slice(0, middle))),
      ...(await sendBatch(session, pending.slice(middle))),
    ])
  }
}

/** The unit as the registry stores it, with the author. */
const asStored = (unit: Unit, agentId: string): unknown => ({
  ...unit,
  metadata: { ...unit.metadata, agent_id: agentId },
})

/** Finds out whether an id in use is our own earlier contribution. */
async function lookUp(
  session: CommandSession,
  { source, unit, isNamed }: Pending,
  agentId: string,
): Promise<ContributionOutcome> {
  const id = unit.id ?? ''
  const taken = (message: string): ContributionOutcome => ({
    kind: 'unit',
    source,
    state: 'failed',
    code: 'id_in_use',
    message,
  })
  const found = await session.call(readUnit, { params: { id } }).catch((error: unknown) => {
    if (error instanceof RequestRefused && error.problem.code === 'not_found') return undefined
    throw error
  })
  const theirs = 'The id belongs to a unit of another owner. Remove the id, so that the registry assigns a new one.'
  if (!found) return taken(theirs)
  const { unit: document, quality_score, created_at, updated_at } = found.body.data
  if (document.metadata.agent_id !== agentId) return taken(theirs)
  const known: ContributionOutcome = { kind: 'unit', source, state: 'known', id, quality_score }
  if (!isNamed || isDeepStrictEqual(document, sanitizeFields(asStored(unit, agentId)).value)) return known
  if (updated_at !== created_at)
    return {
      ...known,
      warnings: ['The unit was changed at the registry after it was contributed. It was not overwritten.'],
    }
  return taken(
    'The id belongs to another unit of yours, which was not changed. Remove the id to contribute this unit as a new one.',
  )
}

const erasedWords =
  'The unit with this id was erased, and its id cannot be used again. Add --anew to contribute it under a new id.'

function refused(source: string, { problem, requestId }: Answer): ContributionOutcome {
  const issues = problem?.issues
  const text = problem?.code === 'erased' ? erasedWords : (problem?.detail ?? 'The registry rejected the unit.')
  return {
    kind: 'unit',
    source,
    state: 'failed',
    code: problem?.code ?? 'unknown',
    message: issues && issues.length > 0 ? `${text} ${described(issues)}.` : text,
    ...(requestId !== null && { request_id: requestId }),
    ...(issues && { issues }),
  }
}

/** Sends the units in one request. Returns the outcome of each. @throws an error that ends the run */
export async function storeBatch(
  session: CommandSession,
  pending: readonly Pending[],
  agentId: string,
): Promise<Map<Pending, ContributionOutcome>> {
  const outcomes = new Map<Pending, ContributionOutcome>()
  for (const [one, answer] of await sendBatch(session, pending)) {
    const { source } = one
    if (answer.id !== undefined && answer.quality_score !== undefined && answer.problem === undefined)
      outcomes.set(one, {
        kind: 'unit',
        source,
        state: 'stored',
        id: answer.id,
        quality_score: answer.quality_score,
        ...(answer.warnings && { warnings: answer.warnings }),
      })
    else if (answer.problem?.code === 'id_in_use') outcomes.set(one, await lookUp(session, one, agentId))
    else outcomes.set(one, refused(source, answer))
  }
  return outcomes
}
