import { createReadStream, existsSync, readFileSync } from 'node:fs'
import { open as openFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { type Command, Option } from 'commander'
import { z } from 'zod'
import { RequestRefused } from '#lib/client/request.ts'
import { type EntryContent, openEntry, sealEntry } from '#lib/client/sealing/entry.ts'
import {
  type MasterKey,
  newKeyring,
  newSealingId,
  openKeyring,
  recoverKeyring,
  rewrap,
} from '#lib/client/sealing/keyring.ts'
import {
  addEntry,
  deleteEntry,
  EntryView,
  editEntry,
  KeyringForm,
  listEntries,
  readEntry,
  storeKeyring,
} from '#lib/domains/grimoire/contract.ts'
import { type EntryKind, entryKinds } from '#lib/domains/grimoire/rules.ts'
import { namedAgent } from './agents-named.ts'
import { parsedJson } from './config.ts'
import { Failure, usageFailure } from './failure.ts'
import { promptedSecrets, sealing, storedKeyring, unsealedMasterKey } from './keyring-opening.ts'
import { asPersonOptions, type CommandActor, type PersonOptions, withCommandActor } from './person.ts'
import { moveIntoPlace, outputOf, unfinishedBeside } from './receiving.ts'
import type { CommandSession } from './session.ts'
import { readStdin } from './terminal.ts'
import { timeOf } from './times.ts'

const clearable = ['confidence', 'tags', 'provenance', 'parents', 'from', 'until'] as const
/** Metadata of an entry besides its content. */
interface EntryOptions {
  confidence?: string
  tag?: string[]
  provenance?: string
  parent?: string[]
  from?: string
  until?: string
  clear?: (typeof clearable)[number][]
}

const describingOptions = (command: Command): Command =>
  command
    .option('--confidence <share>', 'the confidence, from 0 to 1')
    .option('--tag <tag...>', 'tags')
    .option('--provenance <words>', 'the source of the entry')
    .option('--parent <id...>', 'ids of the entries that it derives from')
    .option('--from <time>', 'valid from this day or ISO 8601 time')
    .option('--until <time>', 'expires on this day or at this ISO 8601 time')
const clearingOption = () => new Option('--clear <what...>', 'fields to remove').choices(clearable)

function shareOf(text: string): number {
  const share = text.trim() === '' ? Number.NaN : Number(text)
  if (!(share >= 0 && share <= 1)) throw usageFailure(`--confidence must be a number from 0 to 1, not "${text}".`)
  return share
}

/** Changes to an entry from the options. Other members stay unchanged. @throws Failure from {@link usageFailure} */
function entryChangesOf(options: EntryOptions): Partial<EntryContent> {
  const { confidence, tag, provenance, parent, from, until } = options
  const cleared = new Set(options.clear)
  return {
    ...(cleared.has('confidence') && { confidence: null }),
    ...(cleared.has('tags') && { tags: [] }),
    ...(cleared.has('provenance') && { provenance: null }),
    ...(cleared.has('parents') && { parents: [] }),
    ...(cleared.has('from') && { valid_from: null }),
    ...(cleared.has('until') && { valid_until: null }),
    ...(confidence !== undefined && { confidence: shareOf(confidence) }),
    ...(tag && { tags: tag }),
    ...(provenance !== undefined && { provenance }),
    ...(parent && { parents: parent }),
    ...(from !== undefined && { valid_from: timeOf('--from', from) }),
    ...(until !== undefined && { valid_until: timeOf('--until', until) }),
  }
}

type Readable = Omit<EntryContent, 'content' | 'provenance'> & { content: unknown; provenance: unknown }
/** The request body of an entry for the clade. @throws Failure from {@link usageFailure} without a confidence */
function cladeBody({ confidence, tags, parents, valid_from, valid_until, ...rest }: Readable) {
  if (confidence === null) throw usageFailure('An entry for the clade requires --confidence.')
  return {
    ...rest,
    scope: 'clade' as const,
    confidence,
    tags: [...tags],
    parents: [...parents],
    ...(valid_from !== null && { valid_from }),
    ...(valid_until !== null && { valid_until }),
  }
}

interface GrimoireOptions extends PersonOptions {
  agent?: string
}
interface AddOptions extends GrimoireOptions, EntryOptions {
  kind: EntryKind
  clade?: boolean
}
type EditOptions = GrimoireOptions & EntryOptions
const unsaid = { confidence: null, tags: [], provenance: null, parents: [], valid_from: null, valid_until: null }

async function textAt({ invocation, pathOf }: CommandActor, path: string): Promise<string> {
  if (path === '-') return readStdin(invocation, 'An entry')
  try {
    return readFileSync(pathOf(path), 'utf8')
  } catch {
    throw new Failure('no_file', `The file ${path} cannot be read. Nothing was sent.`)
  }
}

function printCode({ terminal }: CommandActor, code: string): void {
  terminal.line('Recovery code (shown only once):')
  terminal.line(terminal.bold(code))
  terminal.note(
    'Write it down and store it in a safe place. It opens the keyring if you forget the passphrase. There is no other copy.',
  )
}

async function init(asking: CommandActor, named: string | undefined): Promise<void> {
  const id = await namedAgent(asking, named)
  const passphrase = await promptedSecrets(asking)('A new passphrase (at least 12 characters)', true)
  asking.terminal.progress('Creating the keyring')
  const { keyring, recoveryCode } = await sealing(() => newKeyring(passphrase))
  const { body } = await asking.call(storeKeyring, { params: { id }, body: { keyring } })
  asking.terminal.clear()
  asking.terminal.document({ data: { ...body.data, recovery_code: recoveryCode } })
  asking.terminal.line(asking.terminal.good('✓ '), `The keyring of ${id} was created: ${body.data.key_id}`)
  printCode(asking, recoveryCode)
}

/** Sets a new passphrase after opening the keyring with the current secret. */
async function change(
  asking: CommandActor,
  named: string | undefined,
  by: 'passphrase' | 'recovery code',
): Promise<void> {
  const id = await namedAgent(asking, named)
  const { keyring, revision } = await storedKeyring(asking, id)
  const ask = promptedSecrets(asking)
  const present = await ask(`The ${by} of ${id}`)
  const master = await sealing(() => (by === 'passphrase' ? openKeyring : recoverKeyring)(keyring, present))
  const next = await ask('The new passphrase (at least 12 characters)', true)
  asking.terminal.progress('Wrapping the keys')
  const wrapped = await sealing(() => rewrap(keyring, master, next))
  const { body } = await asking.call(storeKeyring, { params: { id }, body: { keyring: wrapped, revision } })
  asking.terminal.clear()
  asking.terminal.document(body)
  asking.terminal.line(
    asking.terminal.good('✓ '),
    `${id} has a new passphrase. Entries did not change, and the recovery code is still valid.`,
  )
}

async function add(asking: CommandActor, path: string, options: AddOptions): Promise<void> {
  const id = await namedAgent(asking, options.agent)
  const content = await textAt(asking, path)
  const entry: EntryContent = { content, ...unsaid, ...entryChangesOf(options) }
  const { kind } = options
  if (options.clade) {
    const said = cladeBody(entry)
    if (kind === 'episode') throw usageFailure('Episodes are always private. Omit --clade.')
    const { body } = await asking.call(addEntry, {
      params: { id },
      body: { ...said, kind },
    })
    asking.terminal.document(body)
    asking.terminal.line(asking.terminal.good('✓ '), `${body.data.id}: ${kind}, for the clade`)
    return
  }
  const { master } = await unsealedMasterKey(asking, id)
  const head = { id: newSealingId('ent'), agent: id, kind, scope: 'private' as const }
  const envelope = await sealing(() => sealEntry(master, head, entry))
  const { body } = await asking.call(addEntry, {
    params: { id },
    body: { scope: 'private', id: head.id, kind, envelope, ...endOf(entry) },
  })
  asking.terminal.clear()
  asking.terminal.document(body)
  asking.terminal.line(
    asking.terminal.good('✓ '),
    `${head.id}: ${kind}, sealed on this machine; the registry cannot read it`,
  )
}

/** Sent next to the envelope, because the server cannot open it. */
const endOf = ({ valid_until }: EntryContent) => valid_until !== null && { valid_until }

/** Changes the named members of an entry. A private entry is opened and sealed again on this machine. */
async function edit(
  asking: CommandActor,
  entryId: string,
  path: string | undefined,
  options: EditOptions,
): Promise<void> {
  const changes = entryChangesOf(options)
  if (path === undefined && Object.keys(changes).length === 0)
    throw usageFailure('Nothing was changed. Give a file with the new content, or an option.')
  const id = await namedAgent(asking, options.agent)
  const said = { ...(path !== undefined && { content: await textAt(asking, path) }), ...changes }
  const params = { id, entryId }
  const { data } = (await asking.call(readEntry, { params })).body
  const isPrivate = data.scope === 'private'
  const { revision } = data
  if (isPrivate) {
    const { master } = await unsealedMasterKey(asking, id)
    const head = { id: data.id, agent: data.agent_id, kind: data.kind, scope: 'private' as const }
    const before = await sealing(() => openEntry(master, head, data.envelope))
    const entry = { ...before, valid_until: data.valid_until, ...said }
    const envelope = await sealing(() => sealEntry(master, head, entry))
    await asking.call(editEntry, { params, body: { scope: 'private', revision, envelope, ...endOf(entry) } })
  } else {
    if (!data.entry) throw new Failure('unknown', 'The registry’s answer contains no entry. Nothing was changed.')
    await asking.call(editEntry, { params, body: { ...cladeBody({ ...data.entry, ...said }), revision } })
  }
  asking.terminal.clear()
  asking.terminal.document({ data: { id: entryId, kind: data.kind, scope: data.scope, changed: true } })
  asking.terminal.line(
    asking.terminal.good('✓ '),
    `${entryId} was changed${isPrivate ? ', sealed on this machine' : ''}; copies that siblings fetched do not change`,
  )
}

async function list(asking: CommandActor, named: string | undefined): Promise<void> {
  const id = await namedAgent(asking, named)
  const rows: Pick<EntryView, 'id' | 'kind' | 'scope' | 'created_at' | 'valid_until'>[] = []
  let cursor: string | undefined
  do {
    const { body } = await asking.call(listEntries, {
      params: { id },
      query: { limit: 100, ...(cursor !== undefined && { cursor }) },
    })
    for (const { id: entryId, kind, scope, created_at, valid_until } of body.data)
      rows.push({ id: entryId, kind, scope, created_at, valid_until })
    cursor = body.next_cursor ?? undefined
  } while (cursor !== undefined)
  asking.terminal.document({ data: rows, total: rows.length })
  asking.terminal.table(
    ['ID', 'KIND', 'SCOPE', 'SINCE', 'UNTIL'],
    rows.map((row) => [row.id, row.kind, row.scope, row.created_at.slice(0, 16), row.valid_until?.slice(0, 16) ?? '–']),
  )
  if (rows.length === 0) asking.terminal.note('None.')
}

async function show(asking: CommandActor, entryId: string, named: string | undefined): Promise<void> {
  const id = await namedAgent(asking, named)
  const { data } = (await asking.call(readEntry, { params: { id, entryId } })).body
  let entry: unknown = data.entry
  if (data.scope === 'private') {
    const { master } = await unsealedMasterKey(asking, id)
    const head = { id: data.id, agent: data.agent_id, kind: data.kind, scope: data.scope }
    entry = await sealing(() => openEntry(master, head, data.envelope))
  }
  const { envelope: _sealed, ...rest } = data
  asking.terminal.clear()
  asking.terminal.document({ data: { ...rest, entry } })
  const content = typeof entry === 'object' && entry !== null && 'content' in entry ? entry.content : entry
  const text = typeof content === 'string' ? content : JSON.stringify(content, null, 2)
  for (const line of text.replace(/\n$/, '').split('\n')) asking.terminal.line(line)
}

async function remove(asking: CommandActor, entryId: string, named: string | undefined): Promise<void> {
  const id = await namedAgent(asking, named)
  await asking.call(deleteEntry, { params: { id, entryId } })
  asking.terminal.document({ data: { id: entryId, deleted: true } })
  asking.terminal.line(asking.terminal.good('✓ '), `${entryId} was deleted for good`)
}

interface FileOptions {
  output: string
  force?: boolean
}
const Copied = z.union([
  z.object({ format: z.literal('knowledgepulse-grimoire/1'), agent_id: z.string(), keyring: KeyringForm.nullable() }),
  z.object({ entry: EntryView }),
  z.object({ end: z.int() }),
])

/** The agent's keyring; null without one. */
async function keyringIfAny(asking: CommandActor, id: string): Promise<KeyringForm | null> {
  try {
    return (await storedKeyring(asking, id)).keyring
  } catch (error) {
    if (error instanceof RequestRefused && error.problem.code === 'not_found') return null
    throw error
  }
}

/**
 * Writes the keyring and all entries to a file that needs no registry: private entries as sealed as the registry stores them, shared ones in
 * plain text. One JSON value per line, so that grimoires of any size fit.
 */
async function exportAll(asking: CommandActor, options: GrimoireOptions & FileOptions): Promise<void> {
  const { terminal } = asking
  const id = await namedAgent(asking, options.agent)
  const file = outputOf(asking, options)
  const [keyring, counts] = [await keyringIfAny(asking, id), { private: 0, clade: 0 }]
  await unfinishedBeside(asking.invocation, file, async (unfinished) => {
    const handle = await openFile(unfinished, 'wx', 0o600)
    const write = (value: z.input<typeof Copied>) => handle.write(`${JSON.stringify(value)}\n`)
    try {
      await write({ format: 'knowledgepulse-grimoire/1', agent_id: id, keyring })
      for (let cursor: string | undefined, isMore = true; isMore; ) {
        const query = { limit: 100, ...(cursor !== undefined && { cursor }) }
        const { body } = await asking.call(listEntries, { params: { id }, query })
        for (const entry of body.data) {
          await write({ entry })
          counts[entry.scope] += 1
        }
        terminal.progress(`Exporting: ${counts.private + counts.clade} of ${body.total}`)
        cursor = body.next_cursor ?? undefined
        isMore = cursor !== undefined
      }
      await write({ end: counts.private + counts.clade })
      await handle.sync()
    } finally {
      await handle.close()
    }
    moveIntoPlace(unfinished, file, options.force ?? false)
  })
  terminal.clear()
  terminal.document({ data: { agent_id: id, file, ...counts } })
  terminal.line(
    terminal.good('✓ '),
    `${id}: ${counts.private} private and ${counts.clade} shared entries in ${options.output}`,
  )
  terminal.note(
    `Private entries stay sealed in the file; your passphrase or recovery code opens them without the registry: ${asking.command(`grimoire open ${options.output} --output opened.jsonl`)}`,
  )
}

/** The lines of an exported grimoire. @throws Failure for a file that is none, damaged or incomplete */
async function* copiedLines(path: string, file: string): AsyncGenerator<z.output<typeof Copied>> {
  const damaged = (why: string) => new Failure('damaged', `${path} ${why}. Nothing was written.`)
  let read = 0
  let end: number | undefined
  for await (const text of createInterface({ input: createReadStream(file) })) {
    if (text === '') continue
    const line = parsedJson(text, Copied)
    if (!line || 'format' in line !== (read === 0) || end !== undefined)
      throw damaged('is not an export of kp grimoire export, or it is damaged')
    if ('end' in line) end = line.end
    read += 1
    yield line
  }
  if (end !== read - 2) throw damaged('is incomplete')
}

/** Opens an exported grimoire on this machine, with the passphrase or the recovery code. It asks no registry. */
async function openCopy(session: CommandSession, path: string, options: FileOptions & { recovery?: boolean }) {
  const { terminal } = session
  const [source, target] = [session.pathOf(path), outputOf(session, options)]
  if (!existsSync(source)) throw new Failure('no_file', `The file ${path} cannot be read. Nothing was written.`)
  let [agent, master, entries]: [string, MasterKey | null, number] = ['', null, 0]
  await unfinishedBeside(session.invocation, target, async (unfinished) => {
    const handle = await openFile(unfinished, 'wx', 0o600)
    try {
      for await (const line of copiedLines(path, source)) {
        if ('format' in line) {
          agent = line.agent_id
          const { keyring } = line
          if (!keyring) continue
          const secret = await promptedSecrets(session)(
            `${options.recovery ? 'Recovery code' : 'Passphrase'} of ${agent}`,
          )
          terminal.progress('Opening the keyring')
          master = await sealing(() => (options.recovery ? recoverKeyring : openKeyring)(keyring, secret))
        } else if ('entry' in line) {
          const { envelope, ...rest } = line.entry
          const { id, kind, scope } = rest
          const key = master
          if (scope === 'private' && !key) throw new Failure('damaged', `${path} has no keyring. Nothing was written.`)
          const entry =
            scope === 'private' && key
              ? await sealing(() => openEntry(key, { id, agent, kind, scope }, envelope))
              : rest.entry
          await handle.write(`${JSON.stringify({ ...rest, entry })}\n`)
          entries += 1
        }
      }
      await handle.sync()
    } finally {
      await handle.close()
    }
    moveIntoPlace(unfinished, target, options.force ?? false)
  })
  terminal.clear()
  terminal.document({ data: { agent_id: agent, file: target, entries } })
  terminal.line(terminal.good('✓ '), `${agent}: ${entries} entries in ${options.output}, in plain text`)
  terminal.note('Only your user can read the file. Delete it when you no longer need it.')
}

/** An agent's grimoire, sealed and opened on this machine. */
export function grimoireCommands(program: Command, begin: () => CommandSession): void {
  const grimoire = program
    .command('grimoire')
    .summary('manage entries that an agent learned')
    .description(
      'Private entries are sealed and opened on this machine, with a passphrase that never leaves it. The terminal asks for the passphrase, or KP_PASSPHRASE_FILE names a file: line 1 opens the keyring, line 2 is a new passphrase.\n\nExample:\n  kp grimoire add lesson.txt --kind insight',
    )
  const ofAgent = (command: Command) =>
    asPersonOptions(command).option('--agent <id>', 'the agent of the grimoire (default: the agent of the token)')
  ofAgent(grimoire.command('init'))
    .summary('create the keyring of an agent')
    .description(
      'Creates the keys of private entries and snapshots, and shows the recovery code once. If the agent has an owner, only the owner can create them. Add --as.\n\nExample:\n  kp grimoire init --agent my-agent --as somebody@example.org',
    )
    .action((options: GrimoireOptions) => withCommandActor(begin(), options, (asking) => init(asking, options.agent)))
  describingOptions(ofAgent(grimoire.command('add')))
    .summary('write an entry')
    .description(
      'Stores a file’s text as an entry; private by default.\n\nExample:\n  kp grimoire add lesson.txt --kind insight --confidence 0.8',
    )
    .argument('<file>', 'the file; - for standard input')
    .addOption(new Option('--kind <kind>', 'the kind of entry').choices([...entryKinds]).default('insight'))
    .option('--clade', 'readable by the installation, so that it can be shared with siblings')
    .action((path: string, options: AddOptions) =>
      withCommandActor(begin(), options, (asking) => add(asking, path, options)),
    )
  ofAgent(grimoire.command('list'))
    .summary('list the entries')
    .description('Lists the entries, newest first; it needs no passphrase.\n\nExample:\n  kp grimoire list')
    .action((options: GrimoireOptions) => withCommandActor(begin(), options, (asking) => list(asking, options.agent)))
  ofAgent(grimoire.command('show'))
    .summary('read an entry')
    .description('Opens an entry on this machine.\n\nExample:\n  kp grimoire show ent_0123456789abcdefghijkl')
    .argument('<id>', 'the entry’s id')
    .action((id: string, options: GrimoireOptions) =>
      withCommandActor(begin(), options, (asking) => show(asking, id, options.agent)),
    )
  describingOptions(ofAgent(grimoire.command('edit')))
    .summary('change an entry')
    .description(
      'Replaces the text of an entry with a file’s text, or changes its fields. Other fields stay unchanged. Kind and scope cannot be changed.\n\nExample:\n  kp grimoire edit ent_0123456789abcdefghijkl lesson.txt --confidence 0.6',
    )
    .argument('<id>', 'the entry’s id')
    .argument('[file]', 'the file; - for standard input')
    .addOption(clearingOption())
    .action((id: string, path: string | undefined, options: EditOptions) =>
      withCommandActor(begin(), options, (asking) => edit(asking, id, path, options)),
    )
  ofAgent(grimoire.command('delete'))
    .summary('delete an entry')
    .description('Deletes an entry for good.\n\nExample:\n  kp grimoire delete ent_0123456789abcdefghijkl')
    .argument('<id>', 'the entry’s id')
    .action((id: string, options: GrimoireOptions) =>
      withCommandActor(begin(), options, (asking) => remove(asking, id, options.agent)),
    )
  const writing = (command: Command) =>
    command.requiredOption('--output <file>', 'where to write it').option('--force', 'replace an existing file')
  writing(ofAgent(grimoire.command('export')))
    .summary('export all entries to a file, sealed as they are')
    .description(
      'Writes the keyring and all entries to a file that only you can read. Private entries stay sealed; kp grimoire open opens them without a registry.\n\nExample:\n  kp grimoire export --output grimoire.jsonl',
    )
    .action((options: GrimoireOptions & FileOptions) =>
      withCommandActor(begin(), options, (asking) => exportAll(asking, options)),
    )
  writing(grimoire.command('open'))
    .summary('open an exported grimoire, without a registry')
    .description(
      'Opens a file of kp grimoire export on this machine and writes its entries in plain text, one JSON value per line. It needs no network and no token.\n\nExample:\n  kp grimoire open grimoire.jsonl --output opened.jsonl',
    )
    .argument('<file>', 'the exported file')
    .option('--recovery', 'open it with the recovery code instead of the passphrase')
    .action((path: string, options: FileOptions & { recovery?: boolean }) => openCopy(begin(), path, options))
  ofAgent(grimoire.command('passphrase'))
    .summary('change the passphrase')
    .description(
      'Wraps the keys with a new passphrase. Entries do not change. If the agent has an owner, only the owner can do this. Add --as.\n\nExample:\n  kp grimoire passphrase --agent my-agent --as somebody@example.org',
    )
    .action((options: GrimoireOptions) =>
      withCommandActor(begin(), options, (asking) => change(asking, options.agent, 'passphrase')),
    )
  ofAgent(grimoire.command('recover'))
    .summary('set a new passphrase with the recovery code')
    .description(
      'Opens the keyring with the recovery code, and wraps it with a new passphrase. If the agent has an owner, only the owner can do this. Add --as.\n\nExample:\n  kp grimoire recover --agent my-agent --as somebody@example.org',
    )
    .action((options: GrimoireOptions) =>
      withCommandActor(begin(), options, (asking) => change(asking, options.agent, 'recovery code')),
    )
}
