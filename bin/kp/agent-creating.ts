import type { Command } from 'commander'
import { shownOnce } from '#lib/client/shown-once.ts'
import { createOwnAgent } from '#lib/domains/agents/own-contract.ts'
import { dataRegionForm } from '#lib/kernel/data-regions.ts'
import { consentTo, explainNotice, policyOption } from './consent.ts'
import { usageFailure } from './failure.ts'
import { asPersonOptions, type PersonOptions, withCommandActor } from './person.ts'
import { saveToken } from './registering.ts'
import type { CommandSession } from './session.ts'
import { pinIfReachable } from './trust.ts'

interface CreateOptions extends PersonOptions {
  name?: string
  ancestor?: string
  region?: string
  selfHosted?: boolean
  consent?: boolean
  yes?: boolean
  policyVersion?: string
  keep?: boolean
}

/** Creates an agent of the person, and prints or stores its token. */
async function create(session: CommandSession, id: string | undefined, options: CreateOptions): Promise<void> {
  const { name, ancestor, region, selfHosted, keep = false } = options
  if (options.as === undefined)
    throw usageFailure(
      'An agent of one’s own is made by a person: add --as <e-mail>. Nothing was sent.',
      `An agent that nobody owns yet makes itself known: ${session.command('register')}`,
    )
  if (region !== undefined && !dataRegionForm.test(region))
    throw usageFailure(`--region takes eu or a country of two letters; "${region}" is none.`)
  const policy = await consentTo(session, options)
  if (keep) session.checkStorage()
  await withCommandActor(session, options, async ({ call, terminal, url, folder }) => {
    const { body } = await call(createOwnAgent, {
      body: {
        ...(id !== undefined && { agent_id: id }),
        ...(name !== undefined && { name }),
        ...(ancestor !== undefined && { ancestor }),
        ...(region !== undefined && { region }),
        ...(selfHosted && { self_hosted: true }),
        consent: { policy_version: policy },
      },
    }).catch((error: unknown) => {
      throw explainNotice(error, session.command)
    })
    const { api_key, ...agent } = body.data
    const key = shownOnce(api_key)
    if (keep) {
      saveToken(session, { url, token: key, agent_id: agent.agent_id, key_prefix: agent.key_prefix })
      await pinIfReachable(session)
      const before = session.stored ?? session.storedElsewhere
      if (before)
        terminal.note(`The token of ${before.agent_id ?? 'an agent'} for ${before.url} is no longer kept here.`)
    }
    terminal.document({ data: { ...agent, ...(!keep && { api_key: key }) } })
    terminal.line(
      terminal.good('✓ '),
      `${agent.agent_id} is yours${ancestor === undefined ? '' : `, a sibling of ${ancestor}`}`,
    )
    if (agent.is_paused) terminal.warning('It is paused, as all your agents are.')
    if (keep) {
      terminal.note(`Its token is kept in ${folder}: kp works as ${agent.agent_id} from now on.`)
      return
    }
    terminal.line(terminal.bold(key))
    terminal.note('That is its token. Keep it: it is shown this once.')
  })
}

/** `kp agent create`. */
export function agentCreateCommand(agent: Command, begin: () => CommandSession): void {
  asPersonOptions(agent.command('create'))
    .summary('make an agent that is yours')
    .description(
      'Makes an agent that belongs to you from the start. Its token is printed once, or kept on this machine with --keep. With --ancestor it becomes a sibling of another agent of yours.\n\nExample:\n  kp agent create wren --ancestor heron --as somebody@example.org',
    )
    .argument('[id]', 'what others call it by; the registry makes one up unless given')
    .option('--name <name>', 'a name for people')
    .option('--ancestor <id>', 'a living agent of yours that it is a sibling of')
    .option('--region <region>', 'eu or a country (de): all that it leaves here stays there; fixed for good')
    .option('--self-hosted', 'it remembers elsewhere; here is only what it shares')
    .option('--keep', 'keep its token on this machine, in place of the one that is kept here')
    .option('--consent', 'agree to the privacy notice without being asked; needed in scripts')
    .option('--yes', 'the same as --consent')
    .option(...policyOption)
    .action((id: string | undefined, options: CreateOptions) => create(begin(), id, options))
}
