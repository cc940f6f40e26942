import { agentListing } from '#lib/domains/agents/queries.ts'
import { countErasures } from '#lib/domains/erasure/queries.ts'
import { countRequests } from '#lib/domains/privacy-requests/queries.ts'
import { type EvidenceCheck, type EvidenceFinding, evidenceLines } from '#lib/kernel/evidence.ts'
import { logFault } from '#lib/kernel/fault-log.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { read } from '#lib/kernel/use-case.ts'
import { withTimeout } from '#lib/kernel/with-timeout.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { boundedQuery, StatementTimeout } from '#lib/stores/postgres/time-limited-query.ts'
import { type CheckView, type LineView, readCompliance } from './contract.ts'

/** Time limits of one statement and of one check, in milliseconds. */
const statementMost = 2_000
const checkMost = 4_000
/** Maximum concurrent checks. The rest of the application needs connections as well. */
const atOnce = 3

class CheckTimeout extends Error {}

interface ComplianceServiceDeps {
  db: Database
  checks: readonly EvidenceCheck[]
}

const faultOf = (error: unknown): NonNullable<CheckView['fault']> =>
  error instanceof StatementTimeout || error instanceof CheckTimeout
    ? 'too_slow'
    : Problem.is(error, 'unavailable')
      ? 'unavailable'
      : 'error'

const texts = (times: EvidenceFinding['times'] = {}): Record<string, string | null> =>
  Object.fromEntries(Object.entries(times).map(([name, at]) => [name, at?.toISOString() ?? null]))

/** In ascending order of severity. */
const order = [
  'not_applicable',
  'holds',
  'unknown',
  'attention',
  'fails',
] as const satisfies readonly CheckView['state'][]

/** The worst state of a line's checks. A line without checks is unknown. */
const worstOf = (states: readonly CheckView['state'][]): CheckView['state'] =>
  states.length === 0
    ? 'unknown'
    : states.reduce((worst, state) => (order.indexOf(state) > order.indexOf(worst) ? state : worst))

/** Whether nothing was ever registered, requested or deleted here. */
async function isUnused(db: Database): Promise<boolean> {
  const agents = await agentListing(db).total()
  const requests = await countRequests(db.prisma)
  const { erasures, deletions } = await countErasures(db.prisma)
  return agents + requests + erasures + deletions === 0
}
/** A check that looked at nothing: a result without faults means nothing there. */
const lookedAtNothing = (numbers: Readonly<Record<string, number>>): boolean => {
  const all = Object.values(numbers)
  return all.length > 0 && all.every((number) => number === 0)
}

/** Runs all checks. Concurrent requests share one run. */
export function complianceService({ db, checks }: ComplianceServiceDeps) {
  const bounded = boundedQuery(db, statementMost)
  async function asked(
    { name, page, ...check }: EvidenceCheck,
    now: Date,
    { unused }: { unused: boolean },
  ): Promise<CheckView> {
    const started = performance.now()
    const known = { name, page, numbers: {}, times: {}, facts: {}, problems: [] }
    const took = () => Math.round(performance.now() - started)
    try {
      const {
        state,
        numbers = {},
        times,
        facts = {},
        problems = [],
        page: own = page,
      } = await withTimeout(checkMost, check.ask(bounded, now), new CheckTimeout())
      const found = problems.filter(({ count }) => count > 0)
      return {
        ...known,
        page: own,
        state: unused && state === 'holds' && lookedAtNothing(numbers) ? 'not_applicable' : state,
        numbers,
        times: texts(times),
        facts,
        problems: found,
        took_ms: took(),
        fault: null,
      }
    } catch (error) {
      const fault = faultOf(error)
      if (fault === 'error') logFault(error, { operationId: readCompliance.id, check: name })
      return { ...known, state: 'unknown', took_ms: took(), fault }
    }
  }

  async function all(now: Date) {
    const started = performance.now()
    const answers = new Map<EvidenceCheck, CheckView>()
    const waiting = [...checks]
    // Without an answer of the database, the checks themselves say so.
    const unused = await isUnused(db).catch(() => false)
    const work = async () => {
      for (let check = waiting.shift(); check; check = waiting.shift())
        answers.set(check, await asked(check, now, { unused }))
    }
    await Promise.all(Array.from({ length: atOnce }, work))
    const lines = evidenceLines.map((line): LineView => {
      const own = checks.flatMap((check) => (check.line === line ? (answers.get(check) ?? []) : []))
      return { line, state: worstOf(own.map(({ state }) => state)), checks: own }
    })
    return { asked_at: now.toISOString(), took_ms: Math.round(performance.now() - started), lines }
  }
  let active: ReturnType<typeof all> | undefined
  async function counted(now: Date) {
    active ??= all(now).finally(() => {
      active = undefined
    })
    const data = await active
    const count = (state: CheckView['state']) => data.lines.filter((line) => line.state === state).length
    return { data, counts: { fails: count('fails'), attention: count('attention'), unknown: count('unknown') } }
  }

  return {
    /** The names of all checks. */
    checkNames: checks.map(({ name }) => name),
    read: read(readCompliance, async ({ now }) => {
      const { data, counts } = await counted(now)
      return { body: { data }, resourceId: 'installation', details: counts }
    }),
    /** How many lines of the report fail, need attention or are unknown. */
    counts: async (now: Date) => (await counted(now)).counts,
  }
}
