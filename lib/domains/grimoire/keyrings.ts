import type { Transaction } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import { KeyringForm, readKeyring, storeKeyring } from './keyring-contract.ts'
import type { GrimoirePorts } from './ports.ts'
import { insertKeyring } from './repository.ts'

const other = (detail: string) => new Problem('conflict', `${detail} Nothing was changed.`)

/** The id and the public key of the agent's keyring; null without one. */
export const keyringOf = (tx: Transaction, agentId: string) =>
  tx.keyring.findUnique({ where: { agentId }, select: { keyId: true, publicKey: true } })

/** Stores and returns keyrings of clients. The installation cannot open them. */
export const keyrings = ({ db, agents, isSealedTo }: GrimoirePorts) => ({
  readKeyring: read(readKeyring, async ({ actor }, { params: { id } }) => {
    await agents.own(actor, id)
    const row = await db.prisma.keyring.findUnique({ where: { agentId: id } })
    if (!row)
      throw new Problem(
        'not_found',
        'This agent has no keyring yet. Its owner can create one in the console or with `kp grimoire init`.',
      )
    return {
      resourceId: row.keyId,
      details: { agent_id: id },
      body: {
        data: {
          agent_id: id,
          keyring: KeyringForm.parse(row.keyring),
          revision: row.revision,
          created_at: row.createdAt.toISOString(),
          updated_at: row.updatedAt.toISOString(),
        },
      },
    }
  }),

  storeKeyring: mutation(storeKeyring, async ({ tx, actor, now }, { params: { id }, body }) => {
    await agents.writable(tx, actor, id)
    const { keyring } = body
    const publicKey = Buffer.from(keyring.public_key, 'base64url')
    const before = await tx.keyring.findUnique({ where: { agentId: id } })
    const answer = (revision: number, status: 200 | 201) => ({
      status,
      resourceId: keyring.key_id,
      details: { agent_id: id, revision, replaced: before !== null && before.keyId !== keyring.key_id },
      body: { data: { agent_id: id, key_id: keyring.key_id, revision, updated_at: now.toISOString() } },
    })
    if (!before && body.revision !== undefined) throw other('This agent has no keyring to change.')
    if (before && body.revision !== before.revision)
      throw other(
        `The keyring has revision ${before.revision}${body.revision === undefined ? ', and a change must name its revision' : `, not ${body.revision}. Read it again`}.`,
      )
    if (before && before.keyId === keyring.key_id && !publicKey.equals(before.publicKey))
      throw other('The keys of a keyring, including its public key, cannot be changed.')
    if (before && before.keyId !== keyring.key_id) {
      if (!body.replace) throw other('This is a different keyring. To replace the keyring, set `replace`.')
      const isInUse =
        (await tx.grimoireEntry.count({ where: { agentId: id, scope: 'private' } })) > 0 ||
        (await isSealedTo(tx, id, before.keyId))
      if (isInUse)
        throw other('Entries or snapshots are sealed under the current keyring and could never be opened again.')
      await agents.erasable(tx, actor, id, now)
      await tx.keyring.delete({ where: { agentId: id } })
    }
    if (before && before.keyId === keyring.key_id) {
      await tx.keyring.update({
        where: { agentId: id },
        data: { keyring, revision: before.revision + 1, updatedAt: now },
      })
      return answer(before.revision + 1, 200)
    }
    const stored = await insertKeyring(tx, { agent: id, id: keyring.key_id, keyring, publicKey, now })
    if (stored === 0) throw other('A keyring with this id already exists. Create another keyring.')
    return answer(1, before ? 200 : 201)
  }),
})
