import { createHash } from 'node:crypto'
import { logFault } from '#lib/kernel/fault-log.ts'
import { newId } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { batched, mutation } from '#lib/kernel/use-case.ts'
import { deleteState, storeState } from './contract.ts'
import { objectsOfAgent } from './making.ts'
import type { SnapshotPorts } from './ports.ts'
import { stateBytes } from './rules.ts'

/** The state that an agent uploads for its snapshots; the newest alone. */
export function stateBundles({ db, objects, agents }: SnapshotPorts) {
  const drop = (key: string) =>
    objects.erase([key]).then(
      () => undefined,
      // A sweep finds it a day later.
      (fault: unknown) => logFault(fault, { operationId: 'snapshots.state' }),
    )
  return {
    storeState: batched(storeState, async (ctx, { params: { id: agentId }, upload }) => {
      const { gate, actor, now } = ctx
      // Before a byte is read, and again with the row.
      await gate.transaction((tx) => agents.writable(tx, actor, agentId))
      const objectKey = `${objectsOfAgent(agentId)}state/${newId('state')}`
      const hash = createHash('sha256')
      let bytes = 0
      let refused: Problem | undefined
      async function* measured() {
        try {
          for await (const piece of upload.bytes) {
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
      let before: string | undefined
      const digest = () => new Uint8Array(hash.digest())
      let sum = new Uint8Array()
      try {
        await objects.put(objectKey, measured(), { mediaType: upload.mediaType })
        sum = digest()
        await gate.transaction(async (tx) => {
          await agents.writable(tx, actor, agentId)
          before = (await tx.stateBundle.findUnique({ where: { agentId } }))?.objectKey
          const facts = { objectKey, mediaType: upload.mediaType, bytes, digest: sum, uploadedAt: now }
          // A row of its own each time, so that what is being erased refuses it.
          await tx.stateBundle.deleteMany({ where: { agentId } })
          await tx.stateBundle.create({ data: { agentId, ...facts } })
        })
      } catch (error) {
        const isKept = await db.prisma.stateBundle.count({ where: { agentId, objectKey } }).catch(() => 1)
        if (isKept === 0) await drop(objectKey)
        throw refused ?? error
      }
      if (before !== undefined) await drop(before)
      return {
        resourceId: agentId,
        details: { bytes },
        body: {
          data: {
            agent_id: agentId,
            bytes,
            sha256: Buffer.from(sum).toString('hex'),
            uploaded_at: now.toISOString(),
          },
        },
      }
    }),

    deleteState: mutation(deleteState, async ({ tx, actor }, { params: { id: agentId } }) => {
      await agents.locked(tx, actor, agentId)
      const row = await tx.stateBundle.findUnique({ where: { agentId } })
      if (!row) throw new Problem('not_found', 'This agent has uploaded no state.')
      await tx.stateBundle.delete({ where: { agentId } })
      return {
        resourceId: agentId,
        body: undefined,
        async afterCommit() {
          await drop(row.objectKey)
          return { body: undefined, status: 204 }
        },
      }
    }),
  }
}
