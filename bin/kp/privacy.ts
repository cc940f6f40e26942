import { Argument, type Command, Option } from 'commander'
import { bases } from '#lib/domains/exports/contract.ts'
import { graces, type RequestKind, requestKinds } from '#lib/domains/privacy-requests/rules.ts'
import { usageFailure } from './failure.ts'
import { type AgentOption, restrict, showInventory, showPlan } from './inventory.ts'
import { asPersonOptions, type PersonOptions, withCommandActor } from './person.ts'
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

const agentOption = ['--agent <id>', 'one of your agents alone (a person has several)'] as const

function looking(privacy: Command, begin: () => CommandSession): void {
  asPersonOptions(privacy.command('inventory'))
    .summary('show what is held on you, and why')
    .description(
      'Shows every place that holds something of you: what, how many, since when, for what purpose, on which lawful basis, until when (GDPR art. 13–15). The records themselves are in an export.\n\nExample:\n  kp privacy inventory\n  kp privacy inventory --as somebody@example.org',
    )
    .option(...agentOption)
    .option('--all', 'places that hold nothing of you, too')
    .action((options: PersonOptions & AgentOption & { all?: boolean }) =>
      withCommandActor(begin(), options, (asking) => showInventory(asking, options)),
    )
  asPersonOptions(privacy.command('plan'))
    .summary('show what an erasure would delete; deletes nothing')
    .description(
      'Shows what an erasure would delete, place by place, what a legal hold keeps, and what stays as proof. Nothing is deleted.\n\nExample:\n  kp privacy plan --as somebody@example.org',
    )
    .option(...agentOption)
    .action((options: PersonOptions & AgentOption) =>
      withCommandActor(begin(), options, (asking) => showPlan(asking, options)),
    )
  asPersonOptions(privacy.command('export'))
    .summary('write everything held on you into a file')
    .description(
      'The same as kp export me --as: the registry prepares a ZIP of everything that it holds on a person, and it is fetched and checked.\n\nExample:\n  kp privacy export --as somebody@example.org --output me.zip',
    )
    .requiredOption('--output <file>', 'where to write it')
    .addOption(
      new Option('--scope <scope>', 'provided: what you provided (GDPR art. 20); all: what was derived too (art. 15)')
        .choices(bases)
        .default('all'),
    )
    .option('--force', 'replace a file that is there already')
    .action((options: PreparedOptions) => {
      if (options.as === undefined)
        throw usageFailure('Say whose: --as <e-mail>.', 'An agent exports itself with kp export me --output me.json')
      return exportPerson(begin(), options)
    })
}

function asking(privacy: Command, begin: () => CommandSession): void {
  asPersonOptions(privacy.command('request'))
    .summary('ask for access, correction, restriction, erasure …')
    .description(
      'Files a privacy request: one kind or several. With --as for a person, verified by the password; with a token for the agent alone. An erasure is asked about first and waits as long as you choose (--grace), in which you can cancel it. The id of its receipt is there from the start.\n\nExample:\n  kp privacy request access portability --as somebody@example.org\n  kp privacy request erasure --grace 7d --as somebody@example.org',
    )
    .addArgument(new Argument('<kind...>', 'what you ask for').choices(requestKinds))
    .addOption(new Option('--grace <time>', 'how long an erasure waits (default: 24h)').choices(graces))
    .option(...agentOption)
    .option('--statement <text>', 'what is wrong, or why you object; in your own words')
    .option('--name <name>', 'of a rectification: the right name')
    .option('--email <address>', 'of a rectification: the right address; confirmed by a letter to it')
    .addOption(new Option('--locale <locale>', 'of a rectification: the right language').choices(['en', 'zh']))
    .option('--wait', 'until nothing more happens by itself')
    .option('--yes', 'do not ask whether to erase; needed in scripts')
    .action((wanted: RequestKind[], options: PersonOptions & RequestOptions) =>
      withCommandActor(begin(), options, (one) => fileOwnRequest(one, wanted, options)),
    )
  asPersonOptions(privacy.command('verify'))
    .summary('show with your password that you asked for it')
    .description(
      'Verifies a request that waits for it, with the password that you sign in with.\n\nExample:\n  kp privacy verify preq_… --as somebody@example.org',
    )
    .argument('<request>', 'the request’s id')
    .option('--link', 'send the letter with the link again, instead')
    .action((id: string, options: PersonOptions & { link?: boolean }) =>
      withCommandActor(begin(), options, (one) => (options.link ? sendLink(one, id) : verifyOwnRequest(one, id))),
    )
  asPersonOptions(privacy.command('cancel'))
    .summary('take a request back before its work begins')
    .description(
      'Cancels a request. Once an erasure has begun it cannot be taken back, and the answer says what is erased already. An agent whose tokens have stopped cancels with what it was given when it asked.\n\nExample:\n  kp privacy cancel preq_… --as somebody@example.org',
    )
    .argument('[request]', 'the request’s id')
    .option('--cancel-token <token>', 'of an agent that asked for its own erasure')
    .action((id: string | undefined, options: PersonOptions & { cancelToken?: string }) => {
      if ((id === undefined) === (options.cancelToken === undefined))
        throw usageFailure('Name the request, or give --cancel-token.')
      if (options.cancelToken !== undefined) return cancelByToken(begin(), options.cancelToken)
      return withCommandActor(begin(), options, (one) => cancelOwnRequest(one, id ?? ''))
    })
  asPersonOptions(privacy.command('expedite'))
    .summary('end the grace of your erasure now')
    .description(
      'Ends the waiting time: the erasure begins at once and cannot be taken back.\n\nExample:\n  kp privacy expedite preq_… --as somebody@example.org',
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
      'The rights of whoever the data is about (GDPR art. 15–21). With --as <e-mail> for a person and all of their agents; else for the agent whose token is kept here.\n\nExample:\n  kp privacy inventory',
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
      'Shows how far a request is: its parts, its timeline, and, of an erasure, every place.\n\nExample:\n  kp privacy show preq_… --wait --as somebody@example.org',
    )
    .argument('<request>', 'the request’s id')
    .option('--wait', 'until nothing more happens by itself')
    .action((id: string, options: PersonOptions & { wait?: boolean }) =>
      withCommandActor(begin(), options, (one) => showOwnRequest(one, id, options)),
    )
  asPersonOptions(privacy.command('restrict'))
    .summary('pause what is done with your data, or go on')
    .description(
      'Restricts processing (GDPR art. 18): nothing is written for your agents, and what they contributed is neither found nor shared. Reading, exporting and erasing go on.\n\nExample:\n  kp privacy restrict --as somebody@example.org\n  kp privacy restrict --lift',
    )
    .option(...agentOption)
    .option('--lift', 'end it')
    .action((options: PersonOptions & AgentOption & { lift?: boolean }) =>
      withCommandActor(begin(), options, (one) => restrict(one, options)),
    )
}
