import { Argument, type Command, Option } from 'commander'
import { setRestriction } from '#lib/domains/agents/contract.ts'
import { bases, readInventory } from '#lib/domains/exports/contract.ts'
import { planErasure } from '#lib/domains/privacy-requests/contract.ts'
import { graces, type RequestKind, requestKinds } from '#lib/domains/privacy-requests/rules.ts'
import { usageFailure } from './failure.ts'
import { asPersonOptions, type CommandActor, type PersonOptions, withCommandActor } from './person.ts'
import { exportPerson, type PreparedOptions } from './prepared.ts'
import {
  cancelByToken,
  cancelOwnRequest,
  expediteOwnRequest,
  fileOwnRequest,
  list,
  type RequestOptions,
  sendLink,
  showOwnRequest,
  verifyOwnRequest,
} from './privacy-requests.ts'
import type { CommandSession } from './session.ts'

interface AgentOption {
  agent?: string
}
const ofAgent = ({ agent }: AgentOption) => (agent === undefined ? {} : { agent_id: agent })
const day = (time: string | null): string => time?.slice(0, 10) ?? ''

async function showInventory(
  { call, terminal }: CommandActor,
  options: AgentOption & { all?: boolean },
): Promise<void> {
  const { body } = await call(readInventory, { query: ofAgent(options) })
  terminal.document(body)
  const shown = options.all ? body.data : body.data.filter(({ count }) => count > 0)
  terminal.table(
    ['WHERE', 'WHAT', 'HOW MANY', 'SINCE', 'UNTIL', 'WHY', 'ON WHICH BASIS'],
    shown.map((one) => [
      one.store,
      one.what,
      String(one.count),
      day(one.since),
      day(one.until) || one.kept,
      one.purpose,
      one.basis,
    ]),
  )
  terminal.line()
  terminal.line(terminal.bold('Other records about you, which an erasure does not delete:'))
  const beside = options.all ? body.kept_beside : body.kept_beside.filter(({ count }) => count !== 0)
  for (const one of beside)
    terminal.line(`  ${one.count === null ? '' : `${one.count} `}${one.what}: ${one.kept} (${one.basis})`)
  if (!options.all) terminal.note('Places without data about you are not listed. Use --all to show them.')
}

async function showPlan({ call, terminal }: CommandActor, options: AgentOption): Promise<void> {
  const { body } = await call(planErasure, { query: ofAgent(options) })
  terminal.document(body)
  const { holdings, total, retained } = body.data
  terminal.table(
    ['WHERE', 'WHAT', 'DELETED OR PSEUDONYMIZED', 'HELD BY LAW'],
    holdings
      .filter(({ count, held }) => count > 0 || held.length > 0)
      .map((one) => [
        one.store,
        one.what,
        String(one.count),
        one.held.map((held) => `${held.count} (${held.hold_id})`).join(', '),
      ]),
  )
  terminal.line(`${total} in all. Nothing was erased.`)
  for (const { what, until, ground } of retained)
    terminal.line(`  Stays: ${what}, ${until === null ? 'for ever' : `until ${day(until)}`}. ${ground}`)
}

async function restrict(
  { call, terminal }: CommandActor,
  { lift, ...options }: AgentOption & { lift?: boolean },
): Promise<void> {
  const { body } = await call(setRestriction, { body: { restricted: !lift, ...ofAgent(options) } })
  terminal.document(body)
  terminal.line(terminal.good('✓ '), body.message)
}

const agentOption = ['--agent <id>', 'only this one of your agents'] as const

function looking(privacy: Command, begin: () => CommandSession): void {
  asPersonOptions(privacy.command('inventory'))
    .summary('show which data is stored about you, and why')
    .description(
      'Shows every place that stores data about you, with its kind, count, age, purpose, lawful basis and retention (GDPR art. 13–15). To get the records, export them.\n\nExample:\n  kp privacy inventory\n  kp privacy inventory --as somebody@example.org',
    )
    .option(...agentOption)
    .option('--all', 'include places without data about you')
    .action((options: PersonOptions & AgentOption & { all?: boolean }) =>
      withCommandActor(begin(), options, (asking) => showInventory(asking, options)),
    )
  asPersonOptions(privacy.command('plan'))
    .summary('show what an erasure would delete; deletes nothing')
    .description(
      'Shows for each place which data an erasure would delete or pseudonymize, which data a legal hold covers, and which records remain as proof. Nothing is deleted.\n\nExample:\n  kp privacy plan --as somebody@example.org',
    )
    .option(...agentOption)
    .action((options: PersonOptions & AgentOption) =>
      withCommandActor(begin(), options, (asking) => showPlan(asking, options)),
    )
  asPersonOptions(privacy.command('export'))
    .summary('export all data about you to a file')
    .description(
      'The same as kp export me --as: the registry prepares a ZIP of all data about a person, then kp downloads and checks it.\n\nExample:\n  kp privacy export --as somebody@example.org --output me.zip',
    )
    .requiredOption('--output <file>', 'where to write it')
    .addOption(
      new Option('--scope <scope>', 'provided: data that you provided (GDPR art. 20); all: derived data too (art. 15)')
        .choices(bases)
        .default('all'),
    )
    .option('--force', 'replace an existing file')
    .action((options: PreparedOptions) => {
      if (options.as === undefined)
        throw usageFailure('Name the person: --as <email>.', 'To export an agent, run kp export me --output me.json')
      return exportPerson(begin(), options)
    })
}

function asking(privacy: Command, begin: () => CommandSession): void {
  asPersonOptions(privacy.command('request'))
    .summary('request access, correction, restriction, erasure …')
    .description(
      'Files a privacy request: one kind or several. With --as for a person, verified by the password; with a token for the agent alone. An erasure asks for a confirmation. It starts after a grace period (--grace), and you can cancel it until then. The id of its receipt is known from the start.\n\nExample:\n  kp privacy request access portability --as somebody@example.org\n  kp privacy request erasure --grace 7d --as somebody@example.org',
    )
    .addArgument(new Argument('<kind...>', 'the kinds of request').choices(requestKinds))
    .addOption(new Option('--grace <time>', 'how long an erasure waits (default: 24h)').choices(graces))
    .option(...agentOption)
    .option('--statement <text>', 'a statement in your own words: what is wrong, or why you object')
    .option('--name <name>', 'for a rectification: the correct name')
    .option('--email <address>', 'for a rectification: the correct address, which you confirm by email')
    .addOption(new Option('--locale <locale>', 'for a rectification: the correct language').choices(['en', 'zh']))
    .option('--wait', 'wait until the request ends or needs an action')
    .option('--yes', 'skip the confirmation of an erasure; required in scripts')
    .action((wanted: RequestKind[], options: PersonOptions & RequestOptions) =>
      withCommandActor(begin(), options, (one) => fileOwnRequest(one, wanted, options)),
    )
  asPersonOptions(privacy.command('verify'))
    .summary('verify a request with your password')
    .description(
      'Verifies a request that waits for verification, with your sign-in password.\n\nExample:\n  kp privacy verify preq_… --as somebody@example.org',
    )
    .argument('<request>', 'the request’s id')
    .option('--link', 'send the email with the link again instead')
    .action((id: string, options: PersonOptions & { link?: boolean }) =>
      withCommandActor(begin(), options, (one) => (options.link ? sendLink(one, id) : verifyOwnRequest(one, id))),
    )
  asPersonOptions(privacy.command('cancel'))
    .summary('cancel a request before its work starts')
    .description(
      'Cancels a request. An erasure that has started cannot be cancelled; the answer states what is already erased. An agent whose tokens no longer work uses the cancel token of its request.\n\nExample:\n  kp privacy cancel preq_… --as somebody@example.org',
    )
    .argument('[request]', 'the request’s id')
    .option('--cancel-token <token>', 'the cancel token of an agent’s erasure')
    .action((id: string | undefined, options: PersonOptions & { cancelToken?: string }) => {
      if ((id === undefined) === (options.cancelToken === undefined))
        throw usageFailure('Name the request, or give --cancel-token.')
      if (options.cancelToken !== undefined) return cancelByToken(begin(), options.cancelToken)
      return withCommandActor(begin(), options, (one) => cancelOwnRequest(one, id ?? ''))
    })
  asPersonOptions(privacy.command('expedite'))
    .summary('start your erasure now')
    .description(
      'Ends the grace period: the erasure starts immediately and cannot be cancelled.\n\nExample:\n  kp privacy expedite preq_… --as somebody@example.org',
    )
    .argument('<request>', 'the request’s id')
    .action((id: string, options: PersonOptions) =>
      withCommandActor(begin(), options, (one) => expediteOwnRequest(one, id)),
    )
}

/** A subject's rights: privacy. */
export function privacyCommands(program: Command, begin: () => CommandSession): void {
  const privacy = program
    .command('privacy')
    .summary('your rights: see, correct, restrict, erase')
    .description(
      'Exercise data subject rights (GDPR art. 15–21). With --as <email>, for a person and all of their agents. Otherwise, for the agent whose token is stored on this machine.\n\nExample:\n  kp privacy inventory',
    )
  looking(privacy, begin)
  asking(privacy, begin)
  asPersonOptions(privacy.command('requests'))
    .summary('list your privacy requests')
    .description('Lists your requests, newest first.\n\nExample:\n  kp privacy requests --as somebody@example.org')
    .action((options: PersonOptions) => withCommandActor(begin(), options, list))
  asPersonOptions(privacy.command('show'))
    .summary('show a request with its timeline')
    .description(
      'Shows the progress of a request: its parts, its timeline and, for an erasure, every place.\n\nExample:\n  kp privacy show preq_… --wait --as somebody@example.org',
    )
    .argument('<request>', 'the request’s id')
    .option('--wait', 'wait until the request ends or needs an action')
    .action((id: string, options: PersonOptions & { wait?: boolean }) =>
      withCommandActor(begin(), options, (one) => showOwnRequest(one, id, options)),
    )
  asPersonOptions(privacy.command('restrict'))
    .summary('restrict the processing of your data, or lift the restriction')
    .description(
      'Restricts processing (GDPR art. 18): your agents cannot write, and their contributions are hidden from search and sharing. Reading, exporting and erasing still work.\n\nExample:\n  kp privacy restrict --as somebody@example.org\n  kp privacy restrict --lift',
    )
    .option(...agentOption)
    .option('--lift', 'lift the restriction')
    .action((options: PersonOptions & AgentOption & { lift?: boolean }) =>
      withCommandActor(begin(), options, (one) => restrict(one, options)),
    )
}
