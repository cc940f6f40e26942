import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { z } from 'zod'
import {
  deleteExchange,
  ExchangeMessage,
  listExchanges,
  logExchange,
  readExchange,
} from '#lib/domains/llm-log/contract.ts'
import { Failure, usageFailure } from './failure.ts'
import { asPersonOptions, type CommandActor, type PersonOptions, withCommandActor } from './person.ts'
import type { CommandSession } from './session.ts'
import { readStdin } from './terminal.ts'

/** A complete exchange, or only its messages. */
const Exchange = z.union([
  z.strictObject({ model: z.string().optional(), messages: z.array(ExchangeMessage).min(1) }),
  z
    .array(ExchangeMessage)
    .min(1)
    .transform((messages) => ({ model: undefined, messages })),
])

async function exchangeIn({ invocation, pathOf }: CommandActor, path: string): Promise<z.output<typeof Exchange>> {
  let text: string
  if (path === '-') text = await readStdin(invocation, 'An exchange')
  else
    try {
      text = readFileSync(pathOf(path), 'utf8')
    } catch {
      throw new Failure('no_file', `The file ${path} cannot be read. Nothing was sent.`)
    }
  try {
    return Exchange.parse(JSON.parse(text))
  } catch {
    throw usageFailure(
      `${path} contains no exchange. Use JSON: {"model": "…", "messages": [{"role": "user", "content": "…"}]}, or only the messages. Nothing was sent.`,
    )
  }
}
const redactedWords = (redacted: Record<string, number | undefined>): string =>
  Object.entries(redacted)
    .map(([kind, count]) => `${count} ${kind}`)
    .join(', ') || 'nothing'

async function add(asking: CommandActor, path: string, model: string | undefined): Promise<void> {
  const { model: written, messages } = await exchangeIn(asking, path)
  const named = model ?? written
  const { body } = await asking.call(logExchange, { body: { messages, ...(named !== undefined && { model: named }) } })
  asking.terminal.document(body)
  asking.terminal.line(asking.terminal.good('✓ '), `${body.data.id} was stored and expires at ${body.data.expires_at}.`)
  if (Object.keys(body.data.redacted).length > 0)
    asking.terminal.note(`Removed before it was stored: ${redactedWords(body.data.redacted)}.`)
}

async function list(asking: CommandActor, agent: string | undefined): Promise<void> {
  const rows = []
  let cursor: string | undefined
  do {
    const { body } = await asking.call(listExchanges, {
      query: { limit: 100, ...(agent !== undefined && { agent_id: agent }), ...(cursor !== undefined && { cursor }) },
    })
    rows.push(...body.data)
    cursor = body.next_cursor ?? undefined
  } while (cursor !== undefined)
  asking.terminal.document({ data: rows, total: rows.length })
  asking.terminal.table(
    ['ID', 'AGENT', 'MODEL', 'SINCE', 'UNTIL', 'REMOVED'],
    rows.map((row) => [
      row.id,
      row.agent_id,
      row.model ?? '–',
      row.created_at.slice(0, 16),
      row.expires_at.slice(0, 16),
      redactedWords(row.redacted),
    ]),
  )
  if (rows.length === 0) asking.terminal.note('None.')
}

async function show(asking: CommandActor, id: string): Promise<void> {
  const { body } = await asking.call(readExchange, { params: { id } })
  asking.terminal.document(body)
  for (const { role, content } of body.data.messages) {
    asking.terminal.line(asking.terminal.bold(role))
    for (const line of content.split('\n')) asking.terminal.line(line)
  }
}

async function remove(asking: CommandActor, id: string): Promise<void> {
  await asking.call(deleteExchange, { params: { id } })
  asking.terminal.document({ data: { deleted: id } })
  asking.terminal.line(asking.terminal.good('✓ '), `${id} is deleted.`)
}

/** Exchanges with language models: add, list, show, delete. */
export function modelLogCommands(program: Command, begin: () => CommandSession): void {
  const log = program
    .command('model-log')
    .summary('manage logged exchanges with language models')
    .description(
      'The registry scans exchanges before it stores them: it rejects secrets and removes personal data. Exchanges are deleted after 24 hours.\n\nExample:\n  kp model-log list',
    )
  asPersonOptions(
    log.command('list').option('--agent <id>', 'the id of the agent (default: all agents that you can access)'),
  )
    .summary('list exchanges, newest first')
    .description('Lists exchanges without their messages.\n\nExample:\n  kp model-log list')
    .action((options: PersonOptions & { agent?: string }) =>
      withCommandActor(begin(), options, (asking) => list(asking, options.agent)),
    )
  asPersonOptions(log.command('show'))
    .summary('read an exchange')
    .description('Shows the messages as they were stored.\n\nExample:\n  kp model-log show llm_0123456789abcdefghijkl')
    .argument('<id>', 'the exchange’s id')
    .action((id: string, options: PersonOptions) => withCommandActor(begin(), options, (asking) => show(asking, id)))
  asPersonOptions(log.command('add'))
    .summary('log an exchange, as the agent')
    .description(
      'Logs a JSON file that contains the messages, or an object with model and messages.\n\nExample:\n  kp model-log add exchange.json',
    )
    .argument('<file>', 'the file; - for standard input')
    .option('--model <name>', 'the model, if the file does not name it')
    .action((path: string, options: PersonOptions & { model?: string }) =>
      withCommandActor(begin(), options, (asking) => add(asking, path, options.model)),
    )
  asPersonOptions(log.command('delete'))
    .summary('delete an exchange before it expires')
    .description('Deletes an exchange for good.\n\nExample:\n  kp model-log delete llm_0123456789abcdefghijkl')
    .argument('<id>', 'the exchange’s id')
    .action((id: string, options: PersonOptions) => withCommandActor(begin(), options, (asking) => remove(asking, id)))
}
