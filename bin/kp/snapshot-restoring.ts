import { createHash, randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { openEntry, sealEntry } from '#lib/client/sealing/entry.ts'
import { EntryView } from '#lib/domains/grimoire/contract.ts'
import { restoreAgent } from '#lib/domains/snapshots/contract.ts'
import { base62 } from '#lib/kernel/ids.ts'
import { namedAgent } from './agents-named.ts'
import { Failure } from './failure.ts'
import { promptedSecrets, sealing, unsealedMasterKey } from './keyring-opening.ts'
import type { CommandActor, PersonOptions } from './person.ts'
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

/** A stream that requests a piece when the previous one was consumed. */
const streamOf = (pieces: AsyncGenerator<Uint8Array>): ReadableStream<Uint8Array> =>
  new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await pieces.next()
      if (done) controller.close()
      else controller.enqueue(value)
    },
    async cancel() {
      await pieces.return(undefined)
    },
  })

/** Restores records of a snapshot that the agent does not have: opened here, verified completely, and sent in one request. */
export async function restore(
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
    const body = () => ({ mediaType: 'application/x-ndjson', bytes: streamOf(sent()) })
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
