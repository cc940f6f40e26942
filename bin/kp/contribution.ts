import { randomUUID } from 'node:crypto'
import type { Command } from 'commander'
import { RequestRefused } from '#lib/client/request.ts'
import type { Unit } from '#lib/domains/knowledge/contract.ts'
import {
  contributeSkill,
  correctSkill,
  listSkills,
  readSkill,
  type Skill,
} from '#lib/domains/knowledge/skills/contract.ts'
import type { PreparedSkill } from '#lib/domains/knowledge/skills/preparation.ts'
import { readSelf } from '#lib/domains/tokens/contract.ts'
import { type Journal, type JournalIdentity, openIdentity, openJournal } from './contribution-journal.ts'
import type { ContributionOutcome } from './contribution-outcome.ts'
import { describeError, type ExitCode, exitCodes, Failure } from './failure.ts'
import type { CommandSession } from './session.ts'
import { examined } from './skill-judgement.ts'
import type { SkillSource } from './skill-source.ts'
import { type BatchBounds, hasRoom, type Pending, patiently, storeBatch } from './unit-batches.ts'
import { checkUnit, described } from './unit-judgement.ts'
import { type SourceItem, unitsOf } from './unit-source.ts'

/** Whether the registry's skill equals the local one, apart from sanitized content. */
function isSame(
  stored: Pick<Skill, 'skill_md' | 'files'>,
  { document, files }: Pick<PreparedSkill, 'document' | 'files'>,
): boolean {
  const listed = (all: readonly { path: string; sha256: string }[]) =>
    all
      .map(({ path, sha256 }) => `${path} ${sha256}`)
      .sort()
      .join('\n')
  return stored.skill_md === document && listed(stored.files) === listed(files)
}

interface ShelfOptions {
  agentId: string
  identity: JournalIdentity
  anew: boolean
  update: boolean
}

/** Contributes skills. A name is unique per author, so a taken name is looked up: it is the same skill, or another version of it. */
function openSkillShelf(session: CommandSession, { agentId, identity, anew, update }: ShelfOptions) {
  let ownIds: Promise<Map<string, string>> | undefined

  /** Ids of the user's own skills by name. */
  async function own(): Promise<Map<string, string>> {
    const byName = new Map<string, string>()
    let cursor: string | undefined
    do {
      const query = { agent_id: agentId, limit: 100, ...(cursor !== undefined && { cursor }) }
      const { body } = await session.call(listSkills, { query })
      for (const { id, name } of body.data) byName.set(name, id)
      cursor = body.next_cursor ?? undefined
    } while (cursor !== undefined)
    return byName
  }

  /** The outcome for a skill with a taken name. Undefined when the name is not the user's own. */
  async function beside(
    source: string,
    skill: SkillSource,
    prepared: PreparedSkill,
  ): Promise<ContributionOutcome | undefined> {
    ownIds ??= own()
    const id = (await ownIds).get(prepared.frontMatter.name)
    if (id === undefined) return undefined
    const { body, headers } = await session.call(readSkill, { params: { id } })
    if (isSame(body.data, prepared))
      return { kind: 'skill', source, state: 'known', id, quality_score: body.data.quality_score }
    if (!update)
      return {
        kind: 'skill',
        source,
        state: 'failed',
        code: 'conflict',
        message: `You already have a skill with this name (${id}). It was not changed. Add --update to replace it.`,
      }
    const version = headers.get('etag')
    const changed = await session.call(correctSkill, {
      params: { id },
      headers: version === null ? {} : { 'if-match': version },
      body: { skill_md: skill.skill_md, files: skill.files },
    })
    return { ...answered(source, changed.body), state: 'updated' }
  }

  return {
    async put(source: string, skill: SkillSource): Promise<ContributionOutcome> {
      const { prepared, faults } = examined(skill)
      if (!prepared) return { kind: 'skill', source, state: 'failed', code: 'invalid', message: faults.join('; ') }
      const key = anew ? randomUUID() : `kp-skill-${identity.keyOf(skill)}`
      try {
        const { body, headers } = await patiently(
          (idempotencyKey) => session.call(contributeSkill, { body: skill }, { idempotencyKey }),
          key,
        )
        return { ...answered(source, body), state: headers.get('idempotency-replayed') === 'true' ? 'known' : 'stored' }
      } catch (error) {
        const isTaken = error instanceof RequestRefused && error.problem.code === 'conflict'
        const outcome = isTaken ? await beside(source, skill, prepared) : undefined
        if (outcome) return outcome
        throw error
      }
    },
  }
}

type Answered = ContributionOutcome & { state: 'stored' | 'known' | 'updated' }
const answered = (source: string, { data, warnings }: { data: Skill; warnings?: string[] | undefined }): Answered => ({
  kind: 'skill',
  source,
  state: 'stored',
  id: data.id,
  quality_score: data.quality_score,
  ...(warnings && { warnings }),
})

const endings = new Set<string>(['scope_too_small', 'restricted', 'rate_limited', 'unknown'])
/** Whether the error would affect every other unit as well. */
const ends = (error: unknown): boolean => {
  if (!(error instanceof RequestRefused)) return true
  const { status, code, issues } = error.problem
  if (code === 'forbidden') return issues === undefined // with issues, the error is about this unit only
  return status === 0 || status === 401 || status >= 500 || endings.has(code)
}

interface Contribution {
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
interface ContributionOptions {
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
async function contribute(
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

const exitCodeOf = ({ failed }: Contribution): ExitCode => (failed > 0 ? exitCodes.failed : exitCodes.done)

/** Maximum number of skipped files that are listed. --json lists all. */
const maxNamed = 10

function tellOutcome({ terminal }: CommandSession, outcome: ContributionOutcome): void {
  if (outcome.state === 'failed') {
    const request = outcome.request_id === undefined ? '' : ` (request ${outcome.request_id})`
    terminal.line(terminal.bad('✗ '), `${outcome.source}: ${outcome.message}${request}`)
    return
  }
  const before = { stored: '', known: '  (already stored)', updated: '  (replaced an earlier version)' }
  terminal.line(
    terminal.good('✓ '),
    `${outcome.id}  quality ${outcome.quality_score.toFixed(2)}  ${outcome.source}${before[outcome.state]}`,
  )
  for (const warning of outcome.warnings ?? []) terminal.line(terminal.warn('  ! '), warning)
}

function tellSum(
  { terminal }: CommandSession,
  { stored, updated, known, failed, outcomes, skipped }: Contribution,
): void {
  for (const { source, why } of skipped.slice(0, maxNamed)) terminal.note(`Skipped: ${source} ${why}.`)
  if (skipped.length > maxNamed) terminal.note(`Skipped: ${skipped.length - maxNamed} more. Use --json to list them.`)
  if (outcomes.length < 2) return
  const units = outcomes.filter(({ kind }) => kind === 'unit').length
  const counted = (count: number, what: string) => `${count} ${what}${count === 1 ? '' : 's'}`
  const parts = [
    `${stored} stored`,
    ...(updated > 0 ? [`${updated} updated`] : []),
    ...(known > 0 ? [`${known} already stored`] : []),
    ...(failed > 0 ? [`${failed} failed`] : []),
  ]
  terminal.note(`${counted(units, 'unit')}, ${counted(outcomes.length - units, 'skill')}: ${parts.join(', ')}.`)
}

async function contributeAll(
  session: CommandSession,
  paths: readonly string[],
  options: ContributionOptions,
): Promise<void> {
  const { terminal } = session
  const made = await contribute(session, paths.map(session.pathOf), (outcome) => tellOutcome(session, outcome), options)
  const { stored, updated, known, failed, outcomes, skipped, stopped } = made
  const complete = stopped === undefined
  terminal.document({ data: { stored, updated, known, failed, complete, items: outcomes, skipped } })
  tellSum(session, made)
  if (stopped) throw stopped
  session.invocation.setExitCode(exitCodeOf(made))
}

/** Contributions: contribute. */
export function contributingCommands(program: Command, begin: () => CommandSession): void {
  program
    .command('contribute')
    .summary('contribute units and skills from files')
    .description(
      'Contributes units and skills. A file holds one JSON unit, an array of them, or JSON Lines; a folder is searched for such files and for skills (a folder with a SKILL.md, and the text files in it); - is standard input. Other files are skipped and listed.\n\nkp checks units on this machine first, then sends them in batches within the token’s limits. To continue an interrupted run, run the same command again: nothing is stored twice.\n\nExample:\n  kp contribute docs/examples/trace.json\n  kp contribute notes/ --json > result.json',
    )
    .argument('<paths...>', 'files or folders, or - for standard input')
    .option('--anew', 'contribute everything under new ids, including units that were contributed or erased before')
    .option('--update', 'replace your existing skill of the same name')
    .action((paths: string[], options: ContributionOptions) => contributeAll(begin(), paths, options))
}
