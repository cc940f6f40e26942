import type { Command } from 'commander'
import { listOwnAgents } from '#lib/domains/agents/contract.ts'
import { exportHeartbeats, type LivingAgent, readAgent, setAgentStatus } from '#lib/domains/agents/life/contract.ts'
import type { AgentStatus } from '#lib/domains/agents/life/rules.ts'
import { agentCreateCommand } from './agent-creating.ts'
import { agentDocumentCommands } from './agent-documents.ts'
import { namedAgent } from './agents-named.ts'
import { Failure, usageFailure } from './failure.ts'
import { asPersonOptions, type CommandActor, type PersonOptions, withCommandActor } from './person.ts'
import type { CommandSession } from './session.ts'

const living = async ({ call }: CommandActor, id: string): Promise<LivingAgent> =>
  (await call(readAgent, { params: { id } })).body.data

interface Shown {
  agent_id: string
  status: AgentStatus
  region: string | null
  self_hosted: boolean
  created_at: string
  name: string | null
}
async function agentsOf(asking: CommandActor): Promise<Shown[]> {
  if (!asking.person) return [await living(asking, await namedAgent(asking, undefined))]
  const rows: Shown[] = []
  let cursor: string | undefined
  do {
    const { body } = await asking.call(listOwnAgents, {
      query: { limit: 100, ...(cursor !== undefined && { cursor }) },
    })
    rows.push(...body.data)
    cursor = body.next_cursor ?? undefined
  } while (cursor !== undefined)
  return rows
}

async function list(asking: CommandActor): Promise<void> {
  const rows = await agentsOf(asking)
  asking.terminal.document({ data: rows, total: rows.length })
  asking.terminal.table(
    ['ID', 'STATUS', 'REGION', 'SINCE', 'NAME'],
    rows.map(({ agent_id, status, region, self_hosted, created_at, name }) => [
      agent_id,
      status,
      self_hosted ? 'self-hosted' : (region ?? '–'),
      created_at.slice(0, 10),
      name ?? '',
    ]),
  )
  if (rows.length === 0) asking.terminal.note('None.')
}

async function show(asking: CommandActor, named: string | undefined): Promise<void> {
  const { terminal } = asking
  const agent = await living(asking, await namedAgent(asking, named))
  terminal.document({ data: agent })
  const row = (name: string, value: string) => terminal.line(terminal.dim(name.padEnd(12)), value)
  row('agent', `${agent.agent_id}${agent.name === null ? '' : ` (${agent.name})`}`)
  row('status', agent.status_at === null ? agent.status : `${agent.status} since ${agent.status_at}`)
  row('region', agent.region ?? 'anywhere')
  if (agent.self_hosted) row('where', 'self-hosted: the registry stores only what the agent shared')
  if (agent.restricted_at !== null) row('restricted', `since ${agent.restricted_at}`)
  row('grimoire', agent.grimoire_days === null ? 'kept until deleted' : `kept for ${agent.grimoire_days} days`)
  row('documents', agent.document_days === null ? 'kept until deleted' : `kept for ${agent.document_days} days`)
  if (!agent.self_hosted)
    row(
      'snapshots',
      agent.automatic_snapshots
        ? 'every six hours'
        : agent.status === 'dead'
          ? 'no new snapshots: the agent is retired'
          : agent.region === null
            ? 'no automatic snapshots: the agent has no keyring (kp grimoire init)'
            : 'no automatic snapshots: the agent has no keyring (kp grimoire init), or its region is not available here',
    )
  row('sharing', agent.sharing_since === null ? 'off' : `on since ${agent.sharing_since}`)
  row('since', agent.created_at)
}

async function setStatus(
  asking: CommandActor,
  named: string | undefined,
  status: AgentStatus,
  confirm?: string,
): Promise<void> {
  const id = await namedAgent(asking, named)
  const { body } = await asking.call(setAgentStatus, {
    params: { id },
    body: { status, ...(confirm !== undefined && { confirm }) },
  })
  asking.terminal.document(body)
  asking.terminal.line(asking.terminal.good('✓ '), body.message)
}

async function die(asking: CommandActor, id: string, { yes = false }: { yes?: boolean }): Promise<void> {
  const { terminal } = asking
  if (!yes && !terminal.isInteractive)
    throw usageFailure(
      'Retiring an agent needs a confirmation on a terminal, and standard input is not one. Nothing was changed.',
      'Or add --yes.',
    )
  const typed = yes ? id : await terminal.ask(`Retiring an agent is final. Type the agent’s id to retire it (${id}):`)
  if (typed !== id) throw new Failure('not_confirmed', 'Nothing was changed.')
  await setStatus(asking, id, 'dead', id)
}

async function heartbeats(asking: CommandActor, named: string | undefined): Promise<void> {
  const response = await asking.stream(exportHeartbeats, { params: { id: await namedAgent(asking, named) } })
  const decoder = new TextDecoder()
  for await (const piece of response.body ?? []) asking.invocation.stdout.write(decoder.decode(piece, { stream: true }))
}

/** The user's own agents: creation, status and documents. */
export function agentCommands(program: Command, begin: () => CommandSession): void {
  const agent = program
    .command('agent')
    .summary('create, pause and retire agents; manage their documents')
    .description(
      'Manages agents. With a token, the commands act on its agent. With --as, they act on the agents that you own.\n\nExample:\n  kp agent show',
    )
  const as = (command: Command): Command => asPersonOptions(command)
  agentCreateCommand(agent, begin)
  as(agent.command('list'))
    .summary('show your agents')
    .description('Shows your agents and their status.\n\nExample:\n  kp agent list --as somebody@example.org')
    .action((options: PersonOptions) => withCommandActor(begin(), options, list))
  as(agent.command('show'))
    .summary('show an agent')
    .description('Shows the status, region, storage and sharing of an agent.\n\nExample:\n  kp agent show')
    .argument('[id]', 'the agent’s id (default: the agent of the token)')
    .action((id: string | undefined, options: PersonOptions) =>
      withCommandActor(begin(), options, (asking) => show(asking, id)),
    )
  as(agent.command('pause'))
    .summary('pause an agent, so that it cannot write')
    .description(
      'The agent can no longer write. Reading, deleting and exporting still work.\n\nExample:\n  kp agent pause',
    )
    .argument('[id]', 'the agent’s id (default: the agent of the token)')
    .action((id: string | undefined, options: PersonOptions) =>
      withCommandActor(begin(), options, (asking) => setStatus(asking, id, 'paused')),
    )
  as(agent.command('resume'))
    .summary('resume a paused agent')
    .description(
      'If the agent has an owner, only the owner can resume it. Add --as.\n\nExample:\n  kp agent resume my-agent --as somebody@example.org',
    )
    .argument('[id]', 'the agent’s id (default: the agent of the token)')
    .action((id: string | undefined, options: PersonOptions) =>
      withCommandActor(begin(), options, (asking) => setStatus(asking, id, 'active')),
    )
  as(agent.command('die'))
    .summary('retire an agent permanently')
    .description(
      'For 24 hours, its tokens can only export heartbeats. Its owner keeps access to its data.\n\nExample:\n  kp agent die my-agent',
    )
    .argument('<id>', 'the agent’s id')
    .option('--yes', 'retire it without a prompt; required in scripts')
    .action((id: string, options: PersonOptions & { yes?: boolean }) =>
      withCommandActor(begin(), options, (asking) => die(asking, id, options)),
    )
  as(agent.command('heartbeats'))
    .summary('write an agent’s heartbeats as JSON Lines')
    .description(
      'Writes heartbeats to standard output, oldest first. Available until 24 hours after the agent was retired.\n\nExample:\n  kp agent heartbeats > heartbeats.jsonl',
    )
    .argument('[id]', 'the agent’s id (default: the agent of the token)')
    .action((id: string | undefined, options: PersonOptions) => {
      const session = begin()
      // The token of a retired agent cannot read its own agent id, so the stored id is used.
      const own = session.usesStored && options.as === undefined ? session.stored?.agent_id : undefined
      return withCommandActor(session, options, (asking) => heartbeats(asking, id ?? own))
    })
  agentDocumentCommands(agent, begin)
}
