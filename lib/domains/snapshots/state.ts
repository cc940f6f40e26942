import type { SensitiveFinding } from '#lib/domains/pii/findings.ts'
import { keysRefused } from '#lib/domains/pii/secrets/stored-keys.ts'
import { type Scanned, TextScanner } from '#lib/domains/pii/streaming.ts'
import { enqueue } from '#lib/jobs/queue.ts'
import type { Context, Transaction } from '#lib/kernel/context.ts'
import { logFault } from '#lib/kernel/fault-log.ts'
import { newId } from '#lib/kernel/ids.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { batched, mutation, read } from '#lib/kernel/use-case.ts'
import { limitedUpload, putUpload } from '#lib/stores/objects/uploads.ts'
import { rejectAgentUnderLegalHold } from '#lib/stores/postgres/agents-under-legal-hold.ts'
import { bundleText } from './content.ts'
import { deleteState, readState, storeState } from './contract.ts'
import { objectsOfAgent } from './making.ts'
import { NamedSecrets, TooDeep } from './named-secrets.ts'
import type { SnapshotPorts } from './ports.ts'
import { maxSecretLocations, stateBytes } from './rules.ts'

/** A state in the object store that no agent has yet. */
export interface StagedState {
  objectKey: string
  mediaType: string
  bytes: number
  digest: Uint8Array<ArrayBuffer>
}

/**
 * Passes a state on: JSON without the values of secret fields, other types unchanged. Reads the whole upload before it
 * rejects, because a client that is still sending cannot read an answer.
 * @throws Problem `content_blocked` with kinds and places, when the state contains a private key or a seed phrase
 */
async function* withoutKeys(mediaType: string, source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const scanner = new TextScanner()
  const found: SensitiveFinding[] = []
  const report = ({ findings }: Scanned): void => {
    found.push(...findings.filter(({ action }) => action === 'block').slice(0, maxSecretLocations - found.length))
  }
  try {
    for await (const { text, bytes } of bundleText({ mediaType, bytes: async () => source }, new NamedSecrets())) {
      report(scanner.push(text))
      if (found.length === 0 && bytes.byteLength > 0) yield bytes
    }
  } catch (error) {
    if (!(error instanceof TooDeep)) throw error
    throw invalid(['state'], 'must not nest more than 1,000 objects and lists')
  }
  report(scanner.end())
  const places = found.map(({ kind, start }) => ({ kind, path: ['state', `@${start}`] }))
  if (places.length > 0) throw keysRefused(places, 'The state')
}

const statesOfAgent = (agentId: string): string => `${objectsOfAgent(agentId)}state/`
export const dropJob = 'snapshots.drop'
/** Enqueues the deletion of a state without an owner, in the transaction that removes its owner. The job retries until it succeeds. */
function dropLater(tx: Transaction, agentId: string, objectKey: string): Promise<void> {
  const id = objectKey.slice(statesOfAgent(agentId).length)
  return enqueue(tx, dropJob, { agentId, id }, { key: `${dropJob}:${id}` })
}

/** Stores the states of agents. A state is stored completely before it replaces the previous one. */
export function stateStore({ db, objects, agents }: SnapshotPorts) {
  const drop = (key: string) =>
    objects.erase([key]).then(
      () => undefined,
      // The job retries. A sweep finds staged states after a day.
      (fault: unknown) => logFault(fault, { operationId: 'snapshots.state' }),
    )
  return {
    drop,
    /** For the queue, which retries. Keeps a state that an agent has. @throws Problem `unavailable` */
    async dropNow(agentId: string, id: string): Promise<void> {
      const objectKey = `${statesOfAgent(agentId)}${id}`
      if ((await db.prisma.stateBundle.count({ where: { objectKey } })) === 0) await objects.erase([objectKey])
    },
    /**
     * Streams a state without secrets into the store; a failure leaves nothing. @throws Problem `too_large`,
     * `content_blocked`, `invalid` or `bad_request`, and errors of the source
     */
    async stage(agentId: string, mediaType: string, source: AsyncIterable<Uint8Array>): Promise<StagedState> {
      const objectKey = `${statesOfAgent(agentId)}${newId('state')}`
      const bytes = withoutKeys(mediaType, limitedUpload(source, stateBytes))
      try {
        const { bytes: size, sha256 } = await putUpload(objects, objectKey, { mediaType, bytes })
        return { objectKey, mediaType, bytes: size, digest: sha256 }
      } catch (error) {
        await drop(objectKey)
        throw error
      }
    },
    /** Assigns the staged state to the agent and deletes the previous one. Deletes the staged state when this is rejected. */
    async keep({ pipeline, actor, now }: Context, agentId: string, staged: StagedState): Promise<void> {
      let before: string | undefined
      try {
        await pipeline.transaction(async (tx) => {
          await agents.writable(tx, actor, agentId)
          before = (await tx.stateBundle.findUnique({ where: { agentId } }))?.objectKey
          // The bytes of the former state would be lost: they are in the object store, where no version is preserved.
          if (before !== undefined) {
            await rejectAgentUnderLegalHold(tx, agentId, now, 'the state was not replaced')
            await dropLater(tx, agentId, before)
          }
          // A new row each time: the write fence only rejects inserts of an agent under erasure.
          await tx.stateBundle.deleteMany({ where: { agentId } })
          await tx.stateBundle.create({ data: { agentId, ...staged, uploadedAt: now } })
        })
      } catch (error) {
        const { objectKey } = staged
        const isRetained = await db.prisma.stateBundle.count({ where: { agentId, objectKey } }).catch(() => 1)
        if (isRetained === 0) await drop(objectKey)
        throw error
      }
      if (before !== undefined) await drop(before)
    },
  }
}
export type StateStore = ReturnType<typeof stateStore>

const noState = () => new Problem('not_found', 'This agent has uploaded no state.')
/** Upload and deletion of the state for an agent's snapshots. Only the newest is kept. */
export function stateBundles({ db, agents }: SnapshotPorts, states: StateStore) {
  return {
    storeState: batched(storeState, async (ctx, { params: { id: agentId }, upload }) => {
      const { pipeline, actor, now } = ctx
      // Checked before the first byte is read, and again with the row.
      await pipeline.transaction((tx) => agents.writable(tx, actor, agentId))
      const staged = await states.stage(agentId, upload.mediaType, upload.bytes)
      await states.keep(ctx, agentId, staged)
      const { bytes, digest } = staged
      return {
        resourceId: agentId,
        details: { bytes },
        body: {
          data: {
            agent_id: agentId,
            bytes,
            sha256: Buffer.from(digest).toString('hex'),
            uploaded_at: now,
          },
        },
      }
    }),

    readState: read(readState, async ({ actor }, { params: { id: agentId } }) => {
      await agents.own(actor, agentId)
      const row = await db.prisma.stateBundle.findUnique({ where: { agentId } })
      if (!row) throw noState()
      return {
        resourceId: agentId,
        body: {
          data: {
            agent_id: agentId,
            media_type: row.mediaType,
            bytes: Number(row.bytes),
            sha256: Buffer.from(row.digest).toString('hex'),
            uploaded_at: row.uploadedAt,
          },
        },
      }
    }),

    deleteState: mutation(deleteState, async ({ tx, actor, now }, { params: { id: agentId } }) => {
      await agents.erasable(tx, actor, agentId, now)
      const row = await tx.stateBundle.findUnique({ where: { agentId } })
      if (!row) throw noState()
      await tx.stateBundle.delete({ where: { agentId } })
      await dropLater(tx, agentId, row.objectKey)
      return {
        resourceId: agentId,
        body: undefined,
        async afterCommit() {
          await states.drop(row.objectKey)
          return { body: undefined, status: 204 }
        },
      }
    }),
  }
}
