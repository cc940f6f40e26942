import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { type Command, Option } from 'commander'
import {
  addAgentDocument,
  deleteAgentDocument,
  editAgentDocument,
  listAgentDocuments,
  readAgentDocument,
} from '#lib/domains/agents/life/contract.ts'
import { type AgentDocumentKind, agentDocumentKinds } from '#lib/domains/agents/life/rules.ts'
import { namedAgent } from './agents-named.ts'
import { Failure } from './failure.ts'
import { asPersonOptions, type CommandActor, type PersonOptions, withCommandActor } from './person.ts'
import type { CommandSession } from './session.ts'
import { readStdin } from './terminal.ts'

interface AgentDocumentOptions extends PersonOptions {
  agent?: string
}

function textOf({ invocation, pathOf }: CommandActor, path: string): string | Promise<string> {
  if (path === '-') return readStdin(invocation, 'A document')
  try {
    return readFileSync(pathOf(path), 'utf8')
  } catch {
    throw new Failure('no_file', `The file ${path} cannot be read. Nothing was sent.`)
  }
}

async function list(
  asking: CommandActor,
  { agent, kind }: AgentDocumentOptions & { kind?: AgentDocumentKind },
): Promise<void> {
  const { terminal } = asking
  const id = await namedAgent(asking, agent)
  const rows = []
  let cursor: string | undefined
  do {
    const { body } = await asking.call(listAgentDocuments, {
      params: { id },
      query: { limit: 100, ...(kind !== undefined && { kind }), ...(cursor !== undefined && { cursor }) },
    })
    rows.push(...body.data)
    cursor = body.next_cursor ?? undefined
  } while (cursor !== undefined)
  terminal.document({ data: rows, total: rows.length })
  terminal.table(
    ['ID', 'KIND', 'REVISION', 'CHANGED', 'TITLE'],
    rows.map((row) => [row.id, row.kind, String(row.revision), row.updated_at.slice(0, 16), row.title]),
  )
  if (rows.length === 0) terminal.note('None.')
}

async function read(asking: CommandActor, documentId: string, { agent }: AgentDocumentOptions) {
  const id = await namedAgent(asking, agent)
  const { body } = await asking.call(readAgentDocument, { params: { id, documentId }, query: { format: 'json' } })
  if (typeof body === 'string')
    throw new Failure('not_a_registry', 'The registry sent an answer that this version of kp does not support.')
  return { id, document: body.data }
}

async function show(asking: CommandActor, documentId: string, owner: AgentDocumentOptions): Promise<void> {
  const { terminal } = asking
  const { document } = await read(asking, documentId, owner)
  terminal.document({ data: document })
  for (const line of document.body.split('\n')) terminal.line(line)
}

const said = ({ terminal }: CommandActor, words: string, isAsSent: boolean): void => {
  terminal.line(terminal.good('✓ '), words)
  if (!isAsSent)
    terminal.warning(
      'The registry removed unsafe markup before it stored the document. Check the result with kp agent documents show.',
    )
}

async function add(
  asking: CommandActor,
  path: string,
  { agent, kind, title }: AgentDocumentOptions & { kind: AgentDocumentKind; title?: string },
): Promise<void> {
  const body = await textOf(asking, path)
  const id = await namedAgent(asking, agent)
  const named = title ?? (path === '-' ? kind : basename(path).replace(/\.(md|markdown|txt)$/i, ''))
  const answer = await asking.call(addAgentDocument, { params: { id }, body: { kind, title: named, body } })
  asking.terminal.document(answer.body)
  said(asking, `The document ${answer.body.data.id} was stored.`, answer.body.data.is_as_sent)
}

async function edit(
  asking: CommandActor,
  documentId: string,
  path: string,
  { title, ...whose }: AgentDocumentOptions & { title?: string },
): Promise<void> {
  const body = await textOf(asking, path)
  const { id, document } = await read(asking, documentId, whose)
  const answer = await asking.call(editAgentDocument, {
    params: { id, documentId },
    body: { revision: document.revision, title: title ?? document.title, body },
  })
  asking.terminal.document(answer.body)
  said(
    asking,
    `The document ${documentId} was changed and now has revision ${answer.body.data.revision}.`,
    answer.body.data.is_as_sent,
  )
}

async function remove(asking: CommandActor, documentId: string, { agent }: AgentDocumentOptions): Promise<void> {
  const id = await namedAgent(asking, agent)
  await asking.call(deleteAgentDocument, { params: { id, documentId } })
  asking.terminal.document({ data: { deleted: documentId } })
  asking.terminal.line(asking.terminal.good('✓ '), `The document ${documentId} was deleted.`)
}

/** Strategy theses and playbooks: list, show, add, edit, delete. */
export function agentDocumentCommands(agent: Command, begin: () => CommandSession): void {
  const documents = agent
    .command('documents')
    .summary('manage strategy theses and playbooks of an agent')
    .description(
      'Documents that guide an agent. Only the agent and its owner can read them.\n\nExample:\n  kp agent documents add thesis.md --kind strategy_thesis',
    )
  const ofAgent = (command: Command): Command =>
    asPersonOptions(command.option('--agent <id>', 'the id of the agent (default: the agent of the token)'))
  const kindOption = () => new Option('--kind <kind>', 'the kind of document').choices(agentDocumentKinds)
  ofAgent(documents.command('list'))
    .summary('show documents, newest first')
    .description('Shows the documents of an agent.\n\nExample:\n  kp agent documents list --kind playbook')
    .addOption(kindOption())
    .action((options: AgentDocumentOptions & { kind?: AgentDocumentKind }) =>
      withCommandActor(begin(), options, (asking) => list(asking, options)),
    )
  ofAgent(documents.command('show'))
    .summary('print a document')
    .description(
      'Prints the Markdown of a document.\n\nExample:\n  kp agent documents show adoc_0123456789abcdefghijkl',
    )
    .argument('<id>', 'the document’s id')
    .action((id: string, options: AgentDocumentOptions) =>
      withCommandActor(begin(), options, (asking) => show(asking, id, options)),
    )
  ofAgent(documents.command('add'))
    .summary('store a Markdown file as a document')
    .description(
      'Stores a Markdown file of at most 256 KiB. The registry sanitizes it first.\n\nExample:\n  kp agent documents add plays.md --kind playbook --title "Quiet markets"',
    )
    .argument('<file>', 'the file; - for standard input')
    .addOption(kindOption().default('playbook'))
    .option('--title <title>', 'the title (default: the file’s name)')
    .action((path: string, options: AgentDocumentOptions & { kind: AgentDocumentKind; title?: string }) =>
      withCommandActor(begin(), options, (asking) => add(asking, path, options)),
    )
  ofAgent(documents.command('edit'))
    .summary('replace the text of a document')
    .description(
      'Replaces the text with the text of a file. If the document changes at the same time, nothing is changed.\n\nExample:\n  kp agent documents edit adoc_0123456789abcdefghijkl plays.md',
    )
    .argument('<id>', 'the document’s id')
    .argument('<file>', 'the file; - for standard input')
    .option('--title <title>', 'the title (default: unchanged)')
    .action((id: string, path: string, options: AgentDocumentOptions & { title?: string }) =>
      withCommandActor(begin(), options, (asking) => edit(asking, id, path, options)),
    )
  ofAgent(documents.command('delete'))
    .summary('delete a document')
    .description('Deletes a document permanently.\n\nExample:\n  kp agent documents delete adoc_0123456789abcdefghijkl')
    .argument('<id>', 'the document’s id')
    .action((id: string, options: AgentDocumentOptions) =>
      withCommandActor(begin(), options, (asking) => remove(asking, id, options)),
    )
}
