import { z } from 'zod'
import { operation } from '#lib/kernel/operation.ts'
import { isBase64Bytes, keyIdForm } from './rules.ts'

const when = z.iso.datetime()
export const AgentParam = z
  .string()
  .min(1)
  .max(64)
  .regex(/^\P{Cc}*$/u, 'must not contain control characters')
export const ofAgent = z.strictObject({ id: AgentParam })
/** Exactly this many bytes, in base64url. */
export const bytes = (length: number) =>
  z
    .string()
    .refine((text) => isBase64Bytes(text, (n) => n === length), `must be ${length} bytes in base64url without padding`)
export const KeyId = z.string().regex(keyIdForm, 'must be the id of a keyring: `key_` and 22 letters or digits')

/** A keyring as clients create it. The server cannot open any part of it. */
export const KeyringForm = z
  .strictObject({
    v: z.literal(1),
    key_id: KeyId,
    kdf: z.strictObject({
      name: z.literal('argon2id'),
      m: z
        .int()
        .min(65_536, 'must be at least 64 MiB')
        .max(1_048_576, 'must be at most 1 GiB')
        .meta({ description: 'KiB' }),
      t: z.int().min(3, 'must be at least 3').max(16, 'must be at most 16'),
      p: z.literal(1),
      salt: bytes(16),
    }),
    passphrase: z.strictObject({ nonce: bytes(12), wrapped: bytes(48) }),
    recovery: z.strictObject({ salt: bytes(16), nonce: bytes(12), wrapped: bytes(48) }),
    public_key: bytes(32).meta({ description: 'X25519' }),
    private_key: z.strictObject({ nonce: bytes(12), sealed: bytes(48) }),
  })
  .meta({
    id: 'Keyring',
    description:
      'Created and opened only by clients. The master key is wrapped twice with AES-256-GCM: under a key that Argon2id derives from the passphrase, and under a key that HKDF derives from the recovery code.',
  })
export type KeyringForm = z.output<typeof KeyringForm>
const KeyringView = z.strictObject({
  agent_id: z.string(),
  keyring: KeyringForm,
  revision: z.int(),
  created_at: when,
  updated_at: when,
})
/** Refusals of operations that change a grimoire. */
export const writing = [
  'not_found',
  'paused',
  'dead',
  'restricted',
  'wrong_state',
  'conflict',
  'fenced',
  'outside_region',
] as const
const keyring = { resourceType: 'keyring' }

export const readKeyring = operation({
  id: 'readKeyring',
  method: 'get',
  path: '/v1/agents/{id}/keyring',
  summary: 'Get the keyring of an agent, as its owner’s client created it',
  description:
    'For the agent and its owner. Only the passphrase opens it, in the browser or on the command line. The server cannot.',
  permission: 'grimoire:read',
  audit: { action: 'read', ...keyring },
  limit: 'read',
  status: 200,
  params: ofAgent,
  output: z.strictObject({ data: KeyringView }),
  refusals: ['not_found'],
})

export const storeKeyring = operation({
  id: 'storeKeyring',
  method: 'put',
  path: '/v1/agents/{id}/keyring',
  summary: 'Store the keyring of an agent, or wrap its keys under another passphrase',
  description:
    'The first keyring returns 201. A change must name the `revision` that was read and keep `key_id` and `public_key`. A different `key_id` requires `replace: true` and is rejected while anything is sealed under the current one.',
  permission: 'grimoire:write',
  audit: { action: 'update', ...keyring },
  limit: 'write',
  status: 200,
  alsoStatus: [201],
  params: ofAgent,
  body: z.strictObject({
    keyring: KeyringForm,
    revision: z.int().min(1).max(2_147_483_646).optional(),
    replace: z.boolean().default(false),
  }),
  output: z.strictObject({
    data: z.strictObject({ agent_id: z.string(), key_id: z.string(), revision: z.int(), updated_at: when }),
  }),
  refusals: [...writing, 'held'],
})
