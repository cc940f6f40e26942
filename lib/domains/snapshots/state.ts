import { createHash } from 'node:crypto'
import type { Context } from '#lib/kernel/context.ts'
import { logFault } from '#lib/kernel/fault-log.ts'
import { newId } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { batched, mutation, read } from '#lib/kernel/use-case.ts'
import { deleteState, readState, storeState } from './contract.ts'
import { objectsOfAgent } from './making.ts'
import type { SnapshotPorts } from './ports.ts'
import { stateBytes } from './rules.ts'

/** A state that lies in the object store and is nobody's yet. */
export interface StagedState {
  objectKey: string
  mediaType: string
  bytes: number
  digest: Uint8Array<ArrayBuffer>
}

/** Where the states of agents lie: one is stored whole before it takes the place of the one before. */
export function stateStore({ db, objects, agents }: SnapshotPorts) {
  const drop = (key: string) =>
    objects.erase([key]).then(
      () => undefined,
      // A sweep finds it a day later.
      (fault: unknown) => logFault(fault, { operationId: 'snapshots.state' }),
    )
  return {
    drop,
    /** Stores the bytes as they come; what breaks off leaves nothing. Throws `too_large`, `bad_request`, and what the source throws. */
    async stage(agentId: string, mediaType: string, source: AsyncIterable<Uint8Array>): Promise<StagedState> {
      const objectKey = `${objectsOfAgent(agentId)}state/${newId('state')}`
      const hash = createHash('sha256')
      let bytes = 0
      let refused: Problem | undefined
      async function* measured() {
        try {
          for await (const piece of source) {
            bytes += piece.byteLength
            if (bytes > stateBytes) throw new Problem('too_large', 'A state has 50 MiB at most. Nothing was kept.')
            hash.update(piece)
            yield piece
          }
        } catch (error) {
          refused = Problem.is(error)
            ? error
            : new Problem('bad_request', {
                detail: 'The state ended before it was whole. Nothing was kept.',
                cause: error,
              })
          throw refused
        }
      }
      try {
        await objects.put(objectKey, measured(), { mediaType })
      } catch (error) {
        await drop(objectKey)
        throw refused ?? error
      }
      return { objectKey, mediaType, bytes, digest: new Uint8Array(hash.digest()) }
    },
    /** It is the agent's from now on; what was before goes. Where that is refused, nothing of it stays. */
    async keep({ gate, actor, now }: Context, agentId: string, staged: StagedState): Promise<void> {
      let before: string | undefined
      try {
        await gate.transaction(async (tx) => {
          await agents.writable(tx, actor, agentId)
          before = (await tx.stateBundle.findUnique({ where: { agentId } }))?.objectKey
          // A row of its own each time, so that what is being erased refuses it.
          await tx.stateBundle.deleteMany({ where: { agentId } })
          await tx.stateBundle.create({ data: { agentId, ...staged, uploadedAt: now } })
        })
      } catch (error) {
        const { objectKey } = staged
        const isKept = await db.prisma.stateBundle.count({ where: { agentId, objectKey } }).catch(() => 1)
        if (isKept === 0) await drop(objectKey)
        throw error
      }
      if (before !== undefined) await drop(before)
    },
  }
}
export type StateStore = ReturnType<typeof stateStore>

const noState = () => new Problem('not_found', 'This agent has uploaded no state.')
/** The state that an agent uploads for its snapshots; the newest alone. */
export function stateBundles({ db, agents }: SnapshotPorts, states: StateStore) {
  return {
    storeState: batched(storeState, async (ctx, { params: { id: agentId }, upload }) => {
      const { gate, actor, now } = ctx
      // Before a byte is read, and again with the row.
      await gate.transaction((tx) => agents.writable(tx, actor, agentId))
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
            uploaded_at: now.toISOString(),
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
            uploaded_at: row.uploadedAt.toISOString(),
          },
        },
      }
    }),

    deleteState: mutation(deleteState, async ({ tx, actor }, { params: { id: agentId } }) => {
      await agents.locked(tx, actor, agentId)
      const row = await tx.stateBundle.findUnique({ where: { agentId } })
      if (!row) throw noState()
      await tx.stateBundle.delete({ where: { agentId } })
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
