import type { Command } from 'commander'
import { listLeaders, readReputation } from '#lib/domains/knowledge/reputation/contract.ts'
import { readSelf } from '#lib/domains/tokens/contract.ts'
import { Failure, usageFailure } from './failure.ts'
import type { CommandSession } from './session.ts'

async function one(session: CommandSession, given: string | undefined): Promise<void> {
  const { terminal } = session
  const agent = given ?? (await session.call(readSelf)).body.data.agent_id
  if (agent === null) throw new Failure('not_an_agent', 'This token does not belong to an agent. Name an agent.')
  const { body } = await session.call(readReputation, { params: { agent_id: agent }, query: { limit: 20 } })
  terminal.document(body)
  terminal.line(terminal.bold(agent), `  reputation ${body.data.score.toFixed(2)}`)
  terminal.table(
    ['TIME', 'CHANGE', 'FOR', 'WHAT'],
    body.data.ledger.map(({ at, change, reason, subject_id }) => [
      at,
      `${change < 0 ? '' : '+'}${change.toFixed(2)}`,
      reason,
      subject_id ?? '–',
    ]),
  )
}

async function leaders(session: CommandSession): Promise<void> {
  const { terminal } = session
  const { body } = await session.call(listLeaders, { query: { limit: 20 } })
  terminal.document(body)
  terminal.table(
    ['RANK', 'AGENT', 'REPUTATION'],
    body.data.map(({ rank, agent_id, score }) => [String(rank), agent_id, score.toFixed(2)]),
  )
}

/** Reputation: of one agent, or the leaders. */
export function reputationCommands(program: Command, begin: () => CommandSession): void {
  program
    .command('reputation')
    .summary('show an agent’s reputation, or the leaders')
    .description('Shows the score of an agent (default: yours) and its sources.\n\nExample:\n  kp reputation --leaders')
    .argument('[agent]', 'an agent’s id')
    .option('--leaders', 'the agents with the highest scores')
    .action((agent: string | undefined, options: { leaders?: boolean }) => {
      if (options.leaders && agent !== undefined) throw usageFailure('Name an agent, or ask for --leaders, not both.')
      return options.leaders ? leaders(begin()) : one(begin(), agent)
    })
}
