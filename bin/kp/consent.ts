import type { Command } from 'commander'
import { RequestRefused } from '#lib/client/request.ts'
import { giveConsent, readNotice, withdrawConsent } from '#lib/domains/agents/contract.ts'
import { Failure, usageFailure } from './failure.ts'
import type { CommandSession } from './session.ts'

export const policyOption = [
  '--policy-version <version>',
  'the version of the privacy notice that you read; the command fails if another version is current',
] as const

/** Shows the address of the privacy notice and asks for consent. In scripts, the option gives consent. */
export async function consentTo(
  session: CommandSession,
  options: { consent?: boolean; yes?: boolean; policyVersion?: string },
): Promise<string> {
  const { terminal } = session
  const { consent, yes } = options
  const { data } = (await session.call(readNotice)).body
  const { url: notice } = data
  const policyVersion = options.policyVersion ?? data.version
  if (consent || yes) {
    terminal.note(`You agree to the privacy notice ${notice} (version ${policyVersion}).`)
    return policyVersion
  }
  if (!terminal.isInteractive)
    throw usageFailure(
      `Consent to the privacy notice (${notice}, version ${policyVersion}) needs a terminal, and standard input is not one. Nothing was sent.`,
      'Read it, then add --consent to agree.',
    )
  const answer = await terminal.ask(
    `How the registry uses your data: ${notice} (version ${policyVersion}). Do you agree? You can withdraw at any time. [y/N]`,
  )
  if (/^y(?:es)?$/i.test(answer)) return policyVersion
  throw new Failure('no_consent', 'You did not agree, so nothing was sent.')
}

/** Explains that the privacy notice has a newer version than this kp, which the person must read first. */
export function explainNotice(error: unknown, command: (words: string) => string): unknown {
  if (!(error instanceof RequestRefused) || !error.problem.issues?.some(({ path }) => path.at(-1) === 'policy_version'))
    return error
  return new Failure(
    'notice_changed',
    `${error.problem.detail ?? 'The privacy notice has a new version.'} Nothing was changed.`,
    {
      advice: `Read it, then: ${command('register --consent --policy-version <version>')} (or consent give, with the same options).`,
    },
  )
}

async function setConsent(
  session: CommandSession,
  options: { withdraw: boolean; agent?: string; consent?: boolean; yes?: boolean; policyVersion?: string },
): Promise<void> {
  const { terminal, command } = session
  const whose = options.agent === undefined ? {} : { agent_id: options.agent }
  if (!options.withdraw) {
    const policy = await consentTo(session, options)
    const { body } = await session
      .call(giveConsent, { body: { policy_version: policy, ...whose } })
      .catch((error: unknown) => {
        throw explainNotice(error, command)
      })
    terminal.document(body)
    terminal.line(
      terminal.good('✓ '),
      `Consent to notice ${body.data.policy_version} is recorded for ${body.data.agent_id}.`,
    )
    if (body.data.restricted_at)
      terminal.note(`The agent is still restricted for another reason (since ${body.data.restricted_at}).`)
    return
  }
  const { body } = await session.call(withdrawConsent, { query: whose })
  terminal.document(body)
  terminal.line(
    terminal.good('✓ '),
    `Consent is withdrawn for ${body.data.agent_id}. The registry accepts no writes for this agent and hides its data from search and sharing.`,
  )
  terminal.line(
    `  Nothing was erased. To erase a unit: ${command('delete <id>')}. To give consent again: ${command('consent give')}.`,
  )
}

/** Consent to the privacy notice: withdraw, give. */
export function consentCommands(program: Command, begin: () => CommandSession): void {
  const consent = program
    .command('consent')
    .summary('withdraw or give consent')
    .description('Records or withdraws consent to the privacy notice.\n\nExample:\n  kp consent withdraw')
  consent
    .command('withdraw')
    .summary('withdraw consent, which restricts the agent')
    .description(
      'Withdraws consent. The agent is restricted immediately. Nothing is erased.\n\nExample:\n  kp consent withdraw',
    )
    .option('--agent <id>', 'the id of the agent, if the token has access to several')
    .action((options: { agent?: string }) => setConsent(begin(), { ...options, withdraw: true }))
  consent
    .command('give')
    .summary('give consent, for the first time or again')
    .description(
      'Records consent to the current privacy notice, and lifts the restriction that a withdrawal caused.\n\nExample:\n  kp consent give --consent',
    )
    .option('--agent <id>', 'the id of the agent, if the token has access to several')
    .option('--consent', 'agree without a prompt; required in scripts')
    .option('--yes', 'the same as --consent')
    .option(...policyOption)
    .action((options: { agent?: string; consent?: boolean; yes?: boolean; policyVersion?: string }) =>
      setConsent(begin(), { ...options, withdraw: false }),
    )
}
