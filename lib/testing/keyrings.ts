import { randomBytes } from 'node:crypto'
import { newId } from '#lib/kernel/ids.ts'
import type { TestApp } from './app.ts'

const bytes = (length: number): string => randomBytes(length).toString('base64url')

/** A fake keyring that looks valid without its keys. Creating a real one takes seconds. */
export const seemingKeyring = (keyId = newId('key')) => ({
  v: 1 as const,
  key_id: keyId,
  kdf: { name: 'argon2id' as const, m: 65_536, t: 3, p: 1 as const, salt: bytes(16) },
  passphrase: { nonce: bytes(12), wrapped: bytes(48) },
  recovery: { salt: bytes(16), nonce: bytes(12), wrapped: bytes(48) },
  public_key: bytes(32),
  private_key: { nonce: bytes(12), sealed: bytes(48) },
})

/** Stores a keyring for an agent as its owner would. No token can store one for an agent that has an owner. */
export async function giveKeyring(
  { app, clock }: TestApp,
  agentId: string,
  keyring = seemingKeyring(),
): Promise<ReturnType<typeof seemingKeyring>> {
  const now = clock.now()
  const publicKey = Buffer.from(keyring.public_key, 'base64url')
  await app.db.prisma.keyring.create({
    data: { agentId, keyId: keyring.key_id, keyring, publicKey, createdAt: now, updatedAt: now },
  })
  return keyring
}

/** A fake envelope for a {@link seemingKeyring}. `plain`: bytes with padding. */
export const seemingEnvelope = (keyId: string, plain = 256) => ({
  v: 1 as const,
  key_id: keyId,
  nonce: bytes(12),
  ciphertext: bytes(plain + 16),
})
