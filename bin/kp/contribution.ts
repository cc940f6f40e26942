import { createHash, randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { RequestRefused } from '#lib/client/request.ts'
import { contributeUnit } from '#lib/domains/knowledge/contract.ts'
import { Unit } from '#lib/domains/knowledge/unit.ts'
import type { Issue } from '#lib/kernel/problem.ts'
import { type ExitCode, exitCodes, Failure, tell } from './failure.ts'
import type { Session } from './session.ts'
import { type Found, unitsOf } from './unit-source.ts'

/** What became of one unit. known: an earlier run stored it, and nothing was stored again. */
export type Outcome =
  | { source: string; state: 'stored' | 'known'; id: string; quality_score: number; warnings?: string[] }
  | { source: string; state: 'failed'; code: string; message: string; request_id?: string; issues?: Issue[] }

/** The same unit gets the same key, so that a run that is repeated within a day stores nothing twice. */
export const idempotencyKeyOf = (unit: Unit): string =>
  `kp-${createHash('sha256').update(JSON.stringify(unit)).digest('base64url')}`

/** A unit, or its faults: those that the registry would find too cost none of its writes. */
export function judge(value: unknown): { unit: Unit } | { issues: Issue[] } {
  const parsed = Unit.safeParse(value)
  if (parsed.success) return { unit: parsed.data }
  const issues = parsed.error.issues.flatMap((issue) => {
    const path = issue.path.map((step) => (typeof step === 'symbol' ? String(step) : step))
    if (issue.code === 'unrecognized_keys')
      return issue.keys.map((key) => ({ path: [...path, key], message: 'is not known' }))
    return [{ path, message: issue.message }]
  })
  return { issues }
}

const described = (issues: readonly Issue[]): string =>
  issues
    .slice(0, 5)
    .map(({ path, message }) => `${path.join('.') || 'the unit'}: ${message}`)
    .join('; ') + (issues.length > 5 ? `; and ${issues.length - 5} more` : '')

const endings = new Set<string>(['scope_too_small', 'restricted', 'rate_limited', 'unknown'])
/** After these no other unit would fare better. */
const ends = (error: unknown): boolean => {
  if (!(error instanceof RequestRefused)) return true
  const { status, code, issues } = error.problem
  if (code === 'forbidden') return issues === undefined // with issues it is about this one unit
  return status === 0 || status === 401 || status >= 500 || endings.has(code)
}

/** How often a registry that is briefly unavailable is asked again. */
const mostTries = 4

async function store(session: Session, source: string, unit: Unit, isAnew: boolean): Promise<Outcome> {
  const idempotencyKey = isAnew ? randomUUID() : idempotencyKeyOf(unit)
  for (let attempt = 1; ; attempt++) {
    try {
      const { body, headers } = await session.call(contributeUnit, { body: unit }, { idempotencyKey })
      return {
        source,
        state: headers.get('idempotency-replayed') === 'true' ? 'known' : 'stored',
        id: body.data.id,
        quality_score: body.quality_score,
        ...(body.warnings && { warnings: body.warnings }),
      }
    } catch (error) {
      const isBusy =
        error instanceof RequestRefused &&
        (error.problem.code === 'unavailable' || error.problem.code === 'idempotency_in_progress')
      if (!isBusy || attempt === mostTries) throw error
      await delay(Math.min(30, error.retryAfter ?? 2) * 1000)
    }
  }
}

export interface Contribution {
  stored: number
  known: number
  failed: number
  outcomes: Outcome[]
  /** Why the run ended before its end; what was not reached was not sent. */
  stopped?: Failure
}

const total = async (paths: readonly string[]): Promise<number> => {
  let count = 0
  for await (const _ of unitsOf(paths)) count++
  return count
}

/**
 * Sends every unit behind the paths, one by one, at the pace that the limits allow. One that is refused does not keep the others
 * back; what would refuse all of them ends the run.
 */
export async function contribute(
  session: Session,
  paths: readonly string[],
  report: (outcome: Outcome) => void,
  { anew = false }: { anew?: boolean } = {},
): Promise<Contribution> {
  const { terminal, command } = session
  const made: Contribution = { stored: 0, known: 0, failed: 0, outcomes: [] }
  const all = terminal.showsProgress && !paths.includes('-') ? await total(paths) : undefined
  const settle = (outcome: Outcome) => {
    made[outcome.state]++
    made.outcomes.push(outcome)
    report(outcome)
  }
  const attempt = async (found: Found): Promise<Outcome> => {
    if ('fault' in found) return { source: found.source, state: 'failed', code: 'malformed_json', message: found.fault }
    const judged = judge(found.value)
    if ('issues' in judged)
      return {
        source: found.source,
        state: 'failed',
        code: 'invalid',
        message: described(judged.issues),
        issues: judged.issues,
      }
    try {
      return await store(session, found.source, judged.unit, anew)
    } catch (error) {
      if (ends(error)) throw error
      const { exitCode: _, status: __, advice: ___, ...told } = tell(error, session.url, command)
      const more = told.code === 'erased' && !anew ? ' Contribute it anew, under a new id, with --anew.' : ''
      return { source: found.source, state: 'failed', ...told, message: told.message + more }
    }
  }
  try {
    for await (const found of unitsOf(paths)) {
      const count = made.outcomes.length + 1
      terminal.progress(
        `Contributing ${count}${all === undefined ? '' : ` of ${all}`}${made.failed > 0 ? ` (${made.failed} failed)` : ''} …`,
      )
      settle(await attempt(found))
    }
  } catch (error) {
    if (made.outcomes.length === 0) throw error
    const told = tell(error, session.url, command)
    made.stopped = new Failure(
      told.code,
      `${told.message} ${made.stored + made.known} units are stored; those not reached were not sent.`,
      {
        advice: `Run the same command again${told.code === 'rate_limited' ? ' in a minute' : ''}: what is stored is not stored twice.`,
        exitCode: told.exitCode,
      },
    )
  } finally {
    terminal.clear()
  }
  return made
}

export const exitCodeOf = ({ failed }: Contribution): ExitCode => (failed > 0 ? exitCodes.failed : exitCodes.done)
