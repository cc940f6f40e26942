import { readFileSync } from 'node:fs'
import { type Command, Option } from 'commander'
import { type EntryContent, openEntry, sealEntry } from '#lib/client/sealing/entry.ts'
import { newKeyring, newSealingId, openKeyring, recoverKeyring, rewrap } from '#lib/client/sealing/keyring.ts'
import {
  addEntry,
  deleteEntry,
  type EntryView,
  listEntries,
  readEntry,
  storeKeyring,
} from '#lib/domains/grimoire/contract.ts'
import { type EntryKind, entryKinds } from '#lib/domains/grimoire/rules.ts'
import { namedAgent } from './agents-named.ts'
import { Failure, usageFailure } from './failure.ts'
import { askedSecrets, openedMaster, sealing, storedKeyring } from './keyring-opening.ts'
import { type Asking, asPersonOptions, type PersonOptions, withAsking } from './person.ts'
import type { Session } from './session.ts'
import { readStdin } from './terminal.ts'

interface Whose extends PersonOptions {
  agent?: string
}
interface AddOptions extends Whose {
  kind: EntryKind
  confidence?: string
  tag?: string[]
  clade?: boolean
}

function textOf({ pathOf }: Asking, path: string): string {
  try {
    return readFileSync(pathOf(path), 'utf8')
  } catch {
    throw new Failure('no_file', `${path} cannot be read. Nothing was sent.`)
  }
}

function printCode({ terminal }: Asking, code: string): void {
  terminal.line('Recovery code, shown this once:')
  terminal.line(terminal.bold(code))
  terminal.note(
    'Write it down and keep it apart: it opens the keyring when the passphrase is forgotten. Nobody has another copy.',
  )
}

async function init(asking: Asking, named: string | undefined): Promise<void> {
  const id = await namedAgent(asking, named)
  const passphrase = await askedSecrets(asking)('A new passphrase, 12 signs at least', true)
  asking.terminal.progress('Making the keyring')
  const { keyring, recoveryCode } = await sealing(() => newKeyring(passphrase))
  const { body } = await asking.call(storeKeyring, { params: { id }, body: { keyring } })
  asking.terminal.clear()
  asking.terminal.document({ data: { ...body.data, recovery_code: recoveryCode } })
  asking.terminal.line(asking.terminal.good('✓ '), `The keyring of ${id} is made: ${body.data.key_id}`)
  printCode(asking, recoveryCode)
}

/** By what opens the keyring now, a new passphrase. */
async function change(asking: Asking, named: string | undefined, by: 'passphrase' | 'recovery code'): Promise<void> {
  const id = await namedAgent(asking, named)
  const { keyring, revision } = await storedKeyring(asking, id)
  const ask = askedSecrets(asking)
  const present = await ask(`The ${by} of ${id}`)
  const master = await sealing(() => (by === 'passphrase' ? openKeyring : recoverKeyring)(keyring, present))
  const next = await ask('The new passphrase, 12 signs at least', true)
  asking.terminal.progress('Wrapping the keys')
  const wrapped = await sealing(() => rewrap(keyring, master, next))
  const { body } = await asking.call(storeKeyring, { params: { id }, body: { keyring: wrapped, revision } })
  asking.terminal.clear()
  asking.terminal.document(body)
  asking.terminal.line(
    asking.terminal.good('✓ '),
    `${id} has a new passphrase. No entry was touched; the recovery code stays good.`,
  )
}

async function add(asking: Asking, path: string, options: AddOptions): Promise<void> {
  const id = await namedAgent(asking, options.agent)
  const content = path === '-' ? await readStdin('An entry') : textOf(asking, path)
  const confidence = options.confidence === undefined ? null : Number(options.confidence)
  if (confidence !== null && !(confidence >= 0 && confidence <= 1))
    throw usageFailure(`--confidence takes a number from 0 to 1; "${options.confidence}" is none.`)
  const tags = options.tag ?? []
  const { kind } = options
  if (options.clade) {
    if (confidence === null) throw usageFailure('An entry for the clade says how sure it is: --confidence.')
    if (kind === 'episode') throw usageFailure('An episode is private always: leave --clade out.')
    const { body } = await asking.call(addEntry, {
      params: { id },
      body: { scope: 'clade', kind, content, confidence, tags },
    })
    asking.terminal.document(body)
    asking.terminal.line(asking.terminal.good('✓ '), `${body.data.id}: ${kind}, for the clade`)
    return
  }
  const { master } = await openedMaster(asking, id)
  const head = { id: newSealingId('ent'), agent: id, kind, scope: 'private' as const }
  const entry: EntryContent = {
    ...{ content, confidence, tags, provenance: null, parents: [] },
    ...{ valid_from: null, valid_until: null },
  }
  const envelope = await sealing(() => sealEntry(master, head, entry))
  const { body } = await asking.call(addEntry, {
    params: { id },
    body: { scope: 'private', id: head.id, kind, envelope },
  })
  asking.terminal.clear()
  asking.terminal.document(body)
  asking.terminal.line(
    asking.terminal.good('✓ '),
    `${head.id}: ${kind}, sealed on this machine; the registry cannot read it`,
  )
}

async function list(asking: Asking, named: string | undefined): Promise<void> {
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

async function show(asking: Asking, entryId: string, named: string | undefined): Promise<void> {
  const id = await namedAgent(asking, named)
  const { data } = (await asking.call(readEntry, { params: { id, entryId } })).body
  let entry: unknown = data.entry
  if (data.scope === 'private') {
    const { master } = await openedMaster(asking, id)
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

async function remove(asking: Asking, entryId: string, named: string | undefined): Promise<void> {
  const id = await namedAgent(asking, named)
  await asking.call(deleteEntry, { params: { id, entryId } })
  asking.terminal.document({ data: { id: entryId, deleted: true } })
  asking.terminal.line(asking.terminal.good('✓ '), `${entryId} is deleted; nothing of it is kept`)
}

/** An agent's grimoire, sealed and opened on this machine. */
export function grimoireCommands(program: Command, begin: () => Session): void {
  const grimoire = program
    .command('grimoire')
    .summary('what an agent learned: write, list, read, delete')
    .description(
      'Private entries are sealed and opened on this machine, under a passphrase that never leaves it. It is asked for on the terminal, or read from the file that KP_PASSPHRASE_FILE names: first what opens the keyring, on the next line a new passphrase.\n\nExample:\n  kp grimoire add lesson.txt --kind insight',
    )
  const ofAgent = (command: Command) =>
    asPersonOptions(command).option('--agent <id>', 'whose grimoire (default: the agent behind the token)')
  ofAgent(grimoire.command('init'))
    .summary('make the keyring of an agent')
    .description(
      'Makes the keys of private entries and snapshots, and shows the recovery code once.\n\nExample:\n  kp grimoire init',
    )
    .action((options: Whose) => withAsking(begin(), options, (asking) => init(asking, options.agent)))
  ofAgent(grimoire.command('add'))
    .summary('write an entry')
    .description(
      'Writes a file’s text as an entry; private unless told.\n\nExample:\n  kp grimoire add lesson.txt --kind insight --confidence 0.8',
    )
    .argument('<file>', 'the file; - for standard input')
    .addOption(new Option('--kind <kind>', 'what it is').choices([...entryKinds]).default('insight'))
    .option('--confidence <share>', 'how sure it is, 0 to 1')
    .option('--tag <tag...>', 'tags')
    .option('--clade', 'readable by the installation, so that it may be shared with siblings')
    .action((path: string, options: AddOptions) => withAsking(begin(), options, (asking) => add(asking, path, options)))
  ofAgent(grimoire.command('list'))
    .summary('list the entries')
    .description('Lists the entries, newest first; it needs no passphrase.\n\nExample:\n  kp grimoire list')
    .action((options: Whose) => withAsking(begin(), options, (asking) => list(asking, options.agent)))
  ofAgent(grimoire.command('show'))
    .summary('read an entry')
    .description('Opens an entry on this machine.\n\nExample:\n  kp grimoire show ent_0123456789abcdefghijkl')
    .argument('<id>', 'the entry’s id')
    .action((id: string, options: Whose) => withAsking(begin(), options, (asking) => show(asking, id, options.agent)))
  ofAgent(grimoire.command('delete'))
    .summary('delete an entry')
    .description(
      'Deletes an entry; nothing of it is kept.\n\nExample:\n  kp grimoire delete ent_0123456789abcdefghijkl',
    )
    .argument('<id>', 'the entry’s id')
    .action((id: string, options: Whose) => withAsking(begin(), options, (asking) => remove(asking, id, options.agent)))
  ofAgent(grimoire.command('passphrase'))
    .summary('change the passphrase')
    .description('Wraps the keys anew; no entry is touched.\n\nExample:\n  kp grimoire passphrase')
    .action((options: Whose) => withAsking(begin(), options, (asking) => change(asking, options.agent, 'passphrase')))
  ofAgent(grimoire.command('recover'))
    .summary('set a new passphrase by the recovery code')
    .description(
      'Opens the keyring by the recovery code, and wraps it under a new passphrase.\n\nExample:\n  kp grimoire recover',
    )
    .action((options: Whose) =>
      withAsking(begin(), options, (asking) => change(asking, options.agent, 'recovery code')),
    )
}
