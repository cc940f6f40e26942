import { RequestRefused } from '#lib/client/request.ts'
import type { Unit } from '#lib/domains/knowledge/contract.ts'
import { readSelf } from '#lib/domains/tokens/contract.ts'
import { type Journal, openIdentity, openJournal } from './contribution-journal.ts'
import type { ContributionOutcome } from './contribution-outcome.ts'
import { describeError, type ExitCode, exitCodes, Failure } from './failure.ts'
import type { CommandSession } from './session.ts'
import { openSkillShelf } from './skill-contribution.ts'
import { type BatchBounds, hasRoom, type Pending, storeBatch } from './unit-batches.ts'
import { checkUnit, described } from './unit-judgement.ts'
import { type SourceItem, unitsOf } from './unit-source.ts'

const endings = new Set<string>(['scope_too_small', 'restricted', 'rate_limited', 'unknown'])
/** Whether the error would affect every other unit as well. */
const ends = (error: unknown): boolean => {
  if (!(error instanceof RequestRefused)) return true
  const { status, code, issues } = error.problem
  if (code === 'forbidden') return issues === undefined // with issues, the error is about this unit only
  return status === 0 || status === 401 || status >= 500 || endings.has(code)
}

export interface Contribution {
  stored: number
  updated: number
  known: number
  failed: number
  outcomes: ContributionOutcome[]
  /** Skipped files and the reasons. */
  skipped: { source: string; why: string }[]
  /** Why the run ended early. The remaining units were not sent. */
  stopped?: Failure
}
export interface ContributionOptions {
  /** Contributes earlier contributions again, with new ids and keys. */
  anew?: boolean
  /** Replaces the user's own skill of the same name. */
  update?: boolean
}

async function total({ invocation }: CommandSession, paths: readonly string[]): Promise<number> {
  let count = 0
  for await (const found of unitsOf(invocation, paths)) if (!('skipped' in found)) count++
  return count
}

/**
 * Sends all units (in batches) and skills (one by one) of the paths, at the pace of the rate limits. Continues after a
 * rejected item, and ends on an error that would affect every item.
 */
export async function contribute(
  session: CommandSession,
  paths: readonly string[],
  report: (outcome: ContributionOutcome) => void,
  { anew = false, update = false }: ContributionOptions = {},
): Promise<Contribution> {
  const { terminal, command, url, folder } = session
  const made: Contribution = { stored: 0, updated: 0, known: 0, failed: 0, outcomes: [], skipped: [] }
  const all = terminal.showsProgress && !paths.includes('-') ? await total(session, paths) : undefined
  const pending: Pending[] = []

  const settle = (outcome: ContributionOutcome) => {
    made[outcome.state]++
    made.outcomes.push(outcome)
    report(outcome)
  }
  const progress = () => {
    const count = made.outcomes.length
    const failures = made.failed > 0 ? `, ${made.failed} failed` : ''
    terminal.progress(`Contributing: ${count}${all === undefined ? '' : ` of ${all}`}${failures}`, all && count / all)
  }
  const refused = (kind: ContributionOutcome['kind'], source: string, error: unknown): ContributionOutcome => {
    if (ends(error)) throw error
    const { exitCode: _, status: __, advice: ___, ...told } = describeError(error, url, command)
    return { kind, source, state: 'failed', ...told }
  }

  async function run(bounds: BatchBounds, agentId: string, journal: Journal): Promise<void> {
    const whose = { folder, url, agentId }
    const identity = openIdentity(whose)
    const shelf = openSkillShelf(session, { agentId, identity, anew, update })

    const flush = async () => {
      const batch = pending.splice(0)
      if (batch.length === 0) return
      progress()
      const outcomes = await storeBatch(session, batch, agentId).catch(
        (error: unknown) => new Map(batch.map((one) => [one, refused('unit', one.source, error)] as const)),
      )
      const kept: Parameters<Journal['keep']>[0][number][] = []
      for (const [{ key }, outcome] of outcomes) {
        if (outcome.state !== 'failed') kept.push({ key, id: outcome.id, quality_score: outcome.quality_score })
        settle(outcome)
      }
      journal.keep(kept)
      progress()
    }
    const addUnit = async (source: string, value: unknown) => {
      const judged = checkUnit(value)
      if ('issues' in judged) {
        const { issues } = judged
        settle({ kind: 'unit', source, state: 'failed', code: 'invalid', message: described(issues), issues })
        return
      }
      const { id: named, ...rest } = judged.unit
      const key = identity.keyOf(judged.unit)
      const before = anew ? undefined : journal.find(key)
      if (before) {
        settle({ kind: 'unit', source, state: 'known', ...before })
        return
      }
      const unit: Unit = anew ? rest : { ...rest, id: named ?? identity.idOf(judged.unit) }
      const bytes = Buffer.byteLength(JSON.stringify(unit))
      if (bytes > bounds.unitBytes) {
        const message = `The unit has ${bytes.toLocaleString('en')} bytes; your tier allows ${bounds.unitBytes.toLocaleString('en')}. It was not sent.`
        settle({ kind: 'unit', source, state: 'failed', code: 'too_large', message })
        return
      }
      const next: Pending = { source, key, unit, isNamed: named !== undefined, bytes }
      if (!hasRoom(pending, next, bounds)) await flush()
      pending.push(next)
    }
    const add = async (found: SourceItem) => {
      const { source } = found
      if ('skipped' in found) made.skipped.push({ source, why: found.skipped })
      else if ('fault' in found)
        settle({ kind: 'unit', source, state: 'failed', code: 'malformed_json', message: found.fault })
      else if ('value' in found) await addUnit(source, found.value)
      else {
        progress()
        settle(await shelf.put(source, found.skill).catch((error: unknown) => refused('skill', source, error)))
      }
    }
    for await (const found of unitsOf(session.invocation, paths)) await add(found)
    await flush()
  }

  try {
    const { data } = (await session.call(readSelf)).body
    if (data.agent_id === null || data.limits.batch < 1)
      throw new Failure(
        'not_an_agent',
        'Only an agent can contribute units, with a token of the scope write. Nothing was sent.',
      )
    const bounds = { units: data.limits.batch, unitBytes: data.limits.unit_bytes }
    const journal = openJournal({ folder, url, agentId: data.agent_id })
    await run(bounds, data.agent_id, journal)
    journal.close()
  } catch (error) {
    if (made.outcomes.length === 0) throw error
    const told = describeError(error, url, command)
    made.stopped = new Failure(
      told.code,
      `${told.message} ${made.stored + made.updated + made.known} are stored; the remaining ones were not sent.`,
      {
        advice: `Run the same command again${told.code === 'rate_limited' ? ' in a minute' : ''}. Stored units are not stored twice.`,
        exitCode: told.exitCode,
      },
    )
  } finally {
    terminal.clear()
  }
  return made
}

export const exitCodeOf = ({ failed }: Contribution): ExitCode => (failed > 0 ? exitCodes.failed : exitCodes.done)
