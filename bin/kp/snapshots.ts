import { createHash, randomBytes } from 'node:crypto'
import { mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Command } from 'commander'
import { z } from 'zod'
import { openEntry, sealEntry } from '#lib/client/sealing/entry.ts'
import { EntryView } from '#lib/domains/grimoire/contract.ts'
import {
  deleteSnapshot,
  listSnapshots,
  makeSnapshot,
  readSnapshot,
  restoreAgent,
  type SnapshotView,
} from '#lib/domains/snapshots/contract.ts'
import { base62 } from '#lib/kernel/ids.ts'
import { webStream } from '#lib/kernel/web-stream.ts'
import { namedAgent } from './agents-named.ts'
import { Failure } from './failure.ts'
import { promptedSecrets, sealing, unsealedMasterKey } from './keyring-opening.ts'
import { asPersonOptions, type CommandActor, type PersonOptions, withCommandActor } from './person.ts'
import { moveIntoPlace, outputOf, printedSize, unfinishedBeside } from './receiving.ts'
import type { CommandSession } from './session.ts'
import { fetchSealed, snapshotContentOf, snapshotLinesOf, unsealedKey } from './snapshot-file.ts'

const Line = z.object({ part: z.string(), record: z.unknown().optional() })

interface Goal {
  from: string
  into: string
}
/** Derives the id of an entry in another agent: the same for every repetition. */
const nameIn = ({ from, into }: Goal, id: string): string => {
  const bytes = createHash('sha256').update(`knowledgepulse restore\n${from}\n${into}\n${id}`).digest().subarray(0, 16)
  return `ent_${base62(bytes, 22)}`
}

/** Restores records of a snapshot that the agent does not have: opened here, verified completely, and sent in one request. */
async function restore(
  asking: CommandActor,
  snapshotId: string,
  { agent, into }: PersonOptions & { agent?: string; into?: string },
): Promise<void> {
  const { terminal } = asking
  const from = await namedAgent(asking, agent)
  const goal: Goal = { from, into: into ?? from }
  const isSame = goal.from === goal.into
  const ask = promptedSecrets(asking)
  const { key, master } = await unsealedKey(asking, from, snapshotId, ask)
  const target = isSame ? master : (await unsealedMasterKey(asking, goal.into, ask)).master

  /** Seals a private entry for the keyring of the target agent. */
  async function resealed(record: unknown): Promise<unknown> {
    const entry = EntryView.parse(record)
    const { id, kind, scope, envelope } = entry
    if (scope !== 'private') return record
    if (envelope === null) throw new Failure('damaged', 'An entry of the snapshot has no envelope.')
    const head = { agent: goal.from, kind, scope, id }
    const own = { ...head, agent: goal.into, id: nameIn(goal, id) }
    const sealed = await sealing(async () => sealEntry(target, own, await openEntry(master, head, envelope)))
    return { ...entry, id: own.id, agent_id: goal.into, envelope: sealed }
  }

  const folder = await mkdtemp(join(tmpdir(), 'kp-snapshot-'))
  try {
    // Stored sealed on disk, and opened for each reading.
    const file = join(folder, randomBytes(4).toString('hex'))
    await fetchSealed(asking, from, snapshotId, file)
    const lines = () => snapshotLinesOf(snapshotContentOf(file, key, { id: from, snapshotId }))
    terminal.progress('Checking the snapshot')
    let last: string | undefined
    for await (const line of lines()) last = Line.parse(JSON.parse(line)).part
    if (last !== 'end')
      throw new Failure('damaged', 'The snapshot is incomplete. Nothing was restored. Download it again.')

    async function* sent(): AsyncGenerator<Uint8Array> {
      let records = 0
      for await (const text of lines()) {
        // Most lines are state, which is sent unchanged.
        let line = text
        if (!text.startsWith('{"part":"state"')) {
          const { part, record } = Line.parse(JSON.parse(text))
          if (part === 'keyrings') continue
          if (part === 'grimoire_entries' && !isSame) line = JSON.stringify({ part, record: await resealed(record) })
          if (part === 'end') line = JSON.stringify({ part, records })
          else if (part !== 'agent') records += 1
        }
        yield Buffer.from(`${line}\n`)
      }
    }
    terminal.progress('Restoring')
    const body = () => ({ mediaType: 'application/x-ndjson', bytes: webStream(sent()) })
    const { data } = (await asking.upload(restoreAgent, body, { params: { id: goal.into } })).body
    terminal.clear()
    terminal.document({ data: { id: snapshotId, ...data } })
    terminal.line(
      terminal.good('✓ '),
      `${goal.into}: ${data.documents} documents and ${data.entries} entries were restored${data.state_bytes > 0 ? ', and the state' : ''}; ${data.there} already existed`,
    )
    if (data.ended > 0) terminal.note(`${data.ended} entries had expired and were not restored.`)
  } finally {
    terminal.clear()
    await rm(folder, { recursive: true, force: true })
  }
}

interface SnapshotOptions extends PersonOptions {
  agent?: string
}
interface DownloadOptions extends SnapshotOptions {
  output: string
  sealed?: boolean
  force?: boolean
}

/** How long the command waits for a snapshot, in milliseconds. The registry makes it in any case. */
const patience = 120_000

function refuseFailed({ state, failure, id }: SnapshotView): void {
  if (state !== 'failed') return
  const places = (failure ?? []).map(({ kind, path }) => `${kind} in ${path}`)
  throw new Failure(
    'snapshot_failed',
    places.length > 0
      ? `The snapshot ${id} was not created, because it would contain a secret: ${places.join('; ')}. Nothing was stored.`
      : `The snapshot ${id} could not be created. Nothing was stored.`,
    { advice: places.length > 0 ? 'Remove the secret, then create another snapshot.' : 'Create another snapshot.' },
  )
}

async function create(asking: CommandActor, named: string | undefined): Promise<void> {
  const { terminal } = asking
  const id = await namedAgent(asking, named)
  let { data } = (await asking.call(makeSnapshot, { params: { id } })).body
  for (const until = Date.now() + patience; data.state === 'preparing' && Date.now() < until; ) {
    terminal.progress('Waiting until the snapshot is ready')
    await delay(500)
    data = (await asking.call(readSnapshot, { params: { id, snapshotId: data.id } })).body.data
  }
  terminal.clear()
  refuseFailed(data)
  terminal.document({ data })
  if (data.state === 'preparing') {
    terminal.line(terminal.warn('! '), `The snapshot ${data.id} is not ready yet.`)
    terminal.note('Check that a worker is running. kp snapshot list shows when the snapshot is ready.')
    return
  }
  terminal.line(
    terminal.good('✓ '),
    `${data.id}: ${printedSize(data.bytes ?? 0)}, sealed with the keyring of ${id}; expires at ${data.expires_at?.slice(0, 16) ?? '–'}`,
  )
}

async function list(asking: CommandActor, named: string | undefined): Promise<void> {
  const id = await namedAgent(asking, named)
  const rows: SnapshotView[] = []
  let cursor: string | undefined
  do {
    const { body } = await asking.call(listSnapshots, {
      params: { id },
      query: { limit: 100, ...(cursor !== undefined && { cursor }) },
    })
    rows.push(...body.data)
    cursor = body.next_cursor ?? undefined
  } while (cursor !== undefined)
  asking.terminal.document({ data: rows, total: rows.length })
  asking.terminal.table(
    ['ID', 'KIND', 'STATE', 'SIZE', 'SINCE', 'UNTIL'],
    rows.map((row) => [
      row.id,
      row.kind,
      row.state,
      row.bytes === null ? '–' : printedSize(row.bytes),
      row.created_at.slice(0, 16),
      row.expires_at?.slice(0, 16) ?? '–',
    ]),
  )
  if (rows.length === 0) asking.terminal.note('None.')
}

async function download(asking: CommandActor, snapshotId: string, options: DownloadOptions): Promise<void> {
  const { terminal } = asking
  const file = outputOf(asking, options)
  const id = await namedAgent(asking, options.agent)
  try {
    await unfinishedBeside(asking.invocation, file, async (sealed) => {
      const opened = options.sealed ? undefined : await unsealedKey(asking, id, snapshotId)
      const bytes = await fetchSealed(asking, id, snapshotId, sealed)
      if (opened === undefined) moveIntoPlace(sealed, file, options.force ?? false)
      else
        await unfinishedBeside(asking.invocation, file, async (plain) => {
          const handle = await open(plain, 'wx', 0o600)
          try {
            for await (const piece of snapshotContentOf(sealed, opened.key, { id, snapshotId }))
              await handle.writeFile(piece)
            await handle.sync()
          } finally {
            await handle.close()
          }
          moveIntoPlace(plain, file, options.force ?? false)
        })
      terminal.clear()
      terminal.document({ data: { id: snapshotId, agent_id: id, file, sealed: opened === undefined, bytes } })
      terminal.line(
        terminal.good('✓ '),
        `${snapshotId}: ${options.output}, ${opened === undefined ? 'sealed' : 'opened on this machine, as JSON Lines'}`,
      )
      if (opened === undefined)
        terminal.note('You can open this file only while the snapshot exists. Deleting the snapshot destroys its key.')
      else terminal.note('Only your user can read the file. Private entries in it are still sealed.')
    })
  } finally {
    terminal.clear()
  }
}

async function remove(asking: CommandActor, snapshotId: string, named: string | undefined): Promise<void> {
  const id = await namedAgent(asking, named)
  const { terminal } = asking
  const { data } = (await asking.call(deleteSnapshot, { params: { id, snapshotId } })).body
  terminal.document({ data })
  if (data.key_destroyed) {
    terminal.line(terminal.good('✓ '), `${snapshotId} and its key were deleted. Copies of it can no longer be opened.`)
    return
  }
  terminal.line(terminal.warn('! '), `${snapshotId} is no longer available, but its key is not destroyed yet`)
  terminal.note('The registry retries every minute. Until then, existing copies can still be opened.')
}

/** Snapshots of an agent, opened only on this machine. */
export function snapshotCommands(program: Command, begin: () => CommandSession): void {
  const snapshot = program
    .command('snapshot')
    .summary('create, list, download and restore snapshots of an agent')
    .description(
      'An agent’s documents, grimoire, settings and uploaded state, sealed with its keyring. The registry creates snapshots and cannot read them. The terminal asks for the passphrase, or KP_PASSPHRASE_FILE names a file that contains it. The passphrase never leaves this machine.\n\nExample:\n  kp snapshot create',
    )
  const ofAgent = (command: Command) =>
    asPersonOptions(command).option('--agent <id>', 'the agent of the snapshots (default: the agent of the token)')
  ofAgent(snapshot.command('create'))
    .summary('create a snapshot')
    .description(
      'Creates a snapshot and waits until it is ready. It expires after four hours. The agent needs a keyring (kp grimoire init).\n\nExample:\n  kp snapshot create',
    )
    .action((options: SnapshotOptions) => withCommandActor(begin(), options, (asking) => create(asking, options.agent)))
  ofAgent(snapshot.command('list'))
    .summary('list the snapshots')
    .description('Lists the snapshots, newest first; it needs no passphrase.\n\nExample:\n  kp snapshot list')
    .action((options: SnapshotOptions) => withCommandActor(begin(), options, (asking) => list(asking, options.agent)))
  ofAgent(snapshot.command('download'))
    .summary('fetch a snapshot and open it')
    .description(
      'Fetches a snapshot and opens it on this machine, into a file that only you can read. With --sealed, the file stays sealed.\n\nExample:\n  kp snapshot download snap_0123456789abcdefghijkl --output agent.jsonl',
    )
    .argument('<id>', 'the snapshot’s id')
    .requiredOption('--output <file>', 'where to write it')
    .option('--sealed', 'keep it sealed; needs no passphrase')
    .option('--force', 'replace an existing file')
    .action((id: string, options: DownloadOptions) =>
      withCommandActor(begin(), options, (asking) => download(asking, id, options)),
    )
  ofAgent(snapshot.command('restore'))
    .summary('restore a snapshot')
    .description(
      'Opens a snapshot on this machine, checks that it is complete, and restores missing documents, grimoire entries, settings and state. With --into, restores into another agent of yours and seals private entries with that agent’s keyring. Repeating it stores nothing twice. Settings are restored only if the grimoire is empty. The state replaces the existing state.\n\nExample:\n  kp snapshot restore snap_0123456789abcdefghijkl --as somebody@example.org --agent old-one --into new-one',
    )
    .argument('<id>', 'the snapshot’s id')
    .option('--into <id>', 'the target agent (default: the agent whose snapshot it is)')
    .action((id: string, options: SnapshotOptions & { into?: string }) =>
      withCommandActor(begin(), options, (asking) => restore(asking, id, options)),
    )
  ofAgent(snapshot.command('delete'))
    .summary('delete a snapshot')
    .description(
      'Deletes a snapshot, its key first, and its links.\n\nExample:\n  kp snapshot delete snap_0123456789abcdefghijkl',
    )
    .argument('<id>', 'the snapshot’s id')
    .action((id: string, options: SnapshotOptions) =>
      withCommandActor(begin(), options, (asking) => remove(asking, id, options.agent)),
    )
}
