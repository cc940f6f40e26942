import { createHash, randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { RequestRefused } from '#lib/client/request.ts'
import { openEntry, sealEntry } from '#lib/client/sealing/entry.ts'
import { setAgentSettings } from '#lib/domains/agents/life/contract.ts'
import { addAgentDocument, readAgentDocument } from '#lib/domains/agents/life/documents-contract.ts'
import { documentKinds } from '#lib/domains/agents/life/rules.ts'
import { addEntry, EntryView, readEntry } from '#lib/domains/grimoire/contract.ts'
import { storeState } from '#lib/domains/snapshots/contract.ts'
import { base62 } from '#lib/kernel/ids.ts'
import { namedAgent } from './agents-named.ts'
import { Failure } from './failure.ts'
import { askedSecrets, openedMaster, sealing } from './keyring-opening.ts'
import type { Asking, PersonOptions } from './person.ts'
import { contentOf, fetchSealed, linesOf, openedKey } from './snapshot-file.ts'

const Document = z.object({ id: z.string(), kind: z.enum(documentKinds), title: z.string(), body: z.string() })
const Settings = z.object({ grimoire_days: z.number().nullable() })
const Line = z.object({
  part: z.string(),
  record: z.unknown().optional(),
  media_type: z.string().optional(),
  data: z.string().optional(),
})

interface Goal {
  from: string
  into: string
}
/** The same thing of the same snapshot has the same name in the same agent, however often it is brought back. */
const nameOf = ({ from, into }: Goal, id: string): Uint8Array =>
  createHash('sha256').update(`knowledgepulse restore\n${from}\n${into}\n${id}`).digest().subarray(0, 16)
const keyOf = (goal: Goal, id: string): string => `restore-${Buffer.from(nameOf(goal, id)).toString('hex')}`

const isRefused = (error: unknown, code: string): boolean =>
  error instanceof RequestRefused && error.problem.code === code
/** Whether the request finds something; what is not there is no fault. */
async function isThere(ask: () => Promise<unknown>): Promise<boolean> {
  try {
    await ask()
    return true
  } catch (error) {
    if (isRefused(error, 'not_found')) return false
    throw error
  }
}

/** A piece is asked for when the last was taken. */
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

/** Brings back what a snapshot has and the agent has not: opened here, seen to be whole first, and sent one by one. */
export async function restore(
  asking: Asking,
  snapshotId: string,
  { agent, into }: PersonOptions & { agent?: string; into?: string },
): Promise<void> {
  const { terminal } = asking
  const from = await namedAgent(asking, agent)
  const goal: Goal = { from, into: into ?? from }
  const isSame = goal.from === goal.into
  const ask = askedSecrets(asking)
  const { key, master } = await openedKey(asking, from, snapshotId, ask)
  const target = isSame ? master : (await openedMaster(asking, goal.into, ask)).master
  const counts = { documents: 0, entries: 0, there: 0, ended: 0, state: 0 }

  async function document(record: unknown): Promise<void> {
    const { id, kind, title, body } = Document.parse(record)
    const params = { id: goal.into, documentId: id }
    if (isSame && (await isThere(() => asking.call(readAgentDocument, { params, query: { format: 'json' } })))) {
      counts.there += 1
      return
    }
    await asking.call(
      addAgentDocument,
      { params: { id: goal.into }, body: { kind, title, body } },
      { idempotencyKey: keyOf(goal, id) },
    )
    counts.documents += 1
  }

  async function entry(record: unknown): Promise<void> {
    const { id, kind, scope, envelope, entry: plain, valid_until } = EntryView.parse(record)
    if (valid_until !== null && Date.parse(valid_until) <= Date.now()) {
      counts.ended += 1
      return
    }
    const until = valid_until === null ? {} : { valid_until }
    const params = { id: goal.into }
    if (scope === 'private') {
      const own = isSame ? id : `ent_${base62(nameOf(goal, id), 22)}`
      const head = { agent: goal.from, kind, scope, id }
      const resealed = isSame
        ? envelope
        : await sealing(async () =>
            sealEntry(target, { ...head, agent: goal.into, id: own }, await openEntry(master, head, envelope)),
          )
      if (resealed === null) throw new Failure('damaged', 'An entry of the snapshot has no envelope.')
      try {
        await asking.call(addEntry, { params, body: { scope, id: own, kind, envelope: resealed, ...until } })
        counts.entries += 1
      } catch (error) {
        if (!isRefused(error, 'id_in_use')) throw error
        counts.there += 1
      }
      return
    }
    if (isSame && (await isThere(() => asking.call(readEntry, { params: { ...params, entryId: id } })))) {
      counts.there += 1
      return
    }
    if (plain === null || kind === 'episode' || plain.confidence === null)
      throw new Failure('damaged', 'An entry of the snapshot is not what entries are.')
    const { content, confidence, tags, provenance, parents, valid_from } = plain
    await asking.call(
      addEntry,
      {
        params,
        body: {
          ...{ scope, kind, content, confidence, tags, provenance, parents, ...until },
          ...(valid_from !== null && { valid_from }),
        },
      },
      { idempotencyKey: keyOf(goal, id) },
    )
    counts.entries += 1
  }

  const folder = await mkdtemp(join(tmpdir(), 'kp-snapshot-'))
  try {
    // Sealed on the disk, and opened as often as it is read.
    const file = join(folder, randomBytes(4).toString('hex'))
    await fetchSealed(asking, from, snapshotId, file)
    async function* lines() {
      for await (const line of linesOf(contentOf(file, key, { id: from, snapshotId })))
        yield Line.parse(JSON.parse(line))
    }
    async function* state(): AsyncGenerator<Uint8Array> {
      for await (const { part, data } of lines())
        if (part === 'state' && data !== undefined) yield Buffer.from(data, 'base64')
    }
    let mediaType: string | undefined
    let last: string | undefined
    terminal.progress('Seeing that it is whole')
    for await (const { part, media_type } of lines()) {
      if (part === 'state') mediaType ??= media_type
      last = part
    }
    if (last !== 'end') throw new Failure('damaged', 'The snapshot has no end. Nothing was brought back.')
    for await (const { part, record } of lines()) {
      terminal.progress(`Bringing back: ${counts.documents + counts.entries + counts.there}`)
      if (part === 'agent')
        await asking.call(setAgentSettings, {
          params: { id: goal.into },
          body: { grimoire_days: Settings.parse(record).grimoire_days },
        })
      if (part === 'agent_documents') await document(record)
      if (part === 'grimoire_entries') await entry(record)
    }
    if (mediaType !== undefined) {
      const type = mediaType
      const body = () => ({ mediaType: type, bytes: streamOf(state()) })
      counts.state = (await asking.upload(storeState, body, { params: { id: goal.into } })).body.data.bytes
    }
  } finally {
    terminal.clear()
    await rm(folder, { recursive: true, force: true })
  }
  terminal.document({ data: { id: snapshotId, agent_id: goal.into, ...counts } })
  terminal.line(
    terminal.good('✓ '),
    `${goal.into}: ${counts.documents} documents and ${counts.entries} entries came back${counts.state > 0 ? ', and the state' : ''}; ${counts.there} were there`,
  )
}
