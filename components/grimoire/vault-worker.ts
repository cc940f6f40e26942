import { openEntry, sealEntry } from '#lib/client/sealing/entry.ts'
import {
  type MasterKey,
  newKeyring,
  newRecoveryCode,
  newSealingId,
  openKeyring,
  recoverKeyring,
  rewrap,
} from '#lib/client/sealing/keyring.ts'
import { SealingRefusal } from '#lib/client/sealing/sealing-refusal.ts'
import type { Answered, Opening, Question, Read, VaultCode, VaultRequest } from './vault-protocol.ts'

// The only place that holds the open master key. Locking terminates this worker and frees its memory.
let master: MasterKey | undefined

class NoKey extends Error {}
const masterNow = (): MasterKey => {
  if (!master) throw new NoKey()
  return master
}
const opened = (keyring: unknown, { by, secret }: Opening): Promise<MasterKey> =>
  by === 'passphrase' ? openKeyring(keyring, secret) : recoverKeyring(keyring, secret)

async function isX25519Known(): Promise<boolean> {
  try {
    await crypto.subtle.generateKey('X25519', false, ['deriveBits'])
    return true
  } catch {
    return false
  }
}

async function readAll({ entries }: Extract<Question, { name: 'read' }>['asks']): Promise<Read[]> {
  const key = masterNow()
  const read: Read[] = []
  for (const { head, envelope } of entries)
    read.push(
      await openEntry(key, head, envelope).then(
        (entry): Read => ({ entry }),
        (error: unknown): Read => {
          if (error instanceof SealingRefusal) return { refused: error.code }
          throw error
        },
      ),
    )
  return read
}

async function answerTo({ name, asks }: Question): Promise<unknown> {
  switch (name) {
    case 'make': {
      const { keyring, recoveryCode, masterKey } = await newKeyring(asks.passphrase)
      master = masterKey
      return { keyring, recoveryCode }
    }
    case 'open':
      master = await opened(asks.keyring, asks)
      return null
    case 'changePassphrase':
      return rewrap(asks.keyring, asks.present ? await opened(asks.keyring, asks.present) : masterNow(), asks.next)
    case 'changeCode':
      return newRecoveryCode(asks.keyring, await opened(asks.keyring, asks.present))
    case 'read':
      return readAll(asks)
    case 'write': {
      const head = { id: asks.id ?? newSealingId('ent'), agent: asks.agent, kind: asks.kind, scope: 'private' as const }
      return { id: head.id, envelope: await sealEntry(masterNow(), head, asks.entry) }
    }
  }
}

/** The code for an error. It contains nothing of the request. */
async function codeOf(error: unknown): Promise<VaultCode> {
  if (error instanceof SealingRefusal) return error.code
  if (error instanceof NoKey) return 'locked'
  if (crypto.subtle === undefined) return 'insecure'
  return (await isX25519Known()) ? 'failed' : 'unsupported'
}

addEventListener('message', async ({ data }: MessageEvent<VaultRequest>) => {
  const { number, question } = data
  let answer: Answered
  try {
    answer = { number, gives: await answerTo(question) }
  } catch (error) {
    answer = { number, refused: await codeOf(error) }
  }
  postMessage(answer)
})
