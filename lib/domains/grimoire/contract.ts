import { z } from 'zod'
import { operation, time } from '#lib/kernel/operation.ts'
import { Cursor, PageLimit, page, Timestamp } from '#lib/kernel/pages.ts'
import {
  entryKinds,
  entryScopes,
  grimoireEntryBytes,
  grimoireEntryIdForm,
  isBase64Bytes,
  isCiphertext,
  keyIdForm,
  maxEntries,
} from './rules.ts'

const EntryId = z.string().regex(grimoireEntryIdForm, 'must be the id of an entry: `ent_` and 22 letters or digits')

const AgentParam = z
  .string()
  .min(1)
  .max(64)
  .regex(/^\P{Cc}*$/u, 'must not contain control characters')
const ofAgent = z.strictObject({ id: AgentParam })
/** Exactly this many bytes, in base64url. */
const bytes = (length: number) =>
  z
    .string()
    .refine((text) => isBase64Bytes(text, (n) => n === length), `must be ${length} bytes in base64url without padding`)
const KeyId = z.string().regex(keyIdForm, 'must be the id of a keyring: `key_` and 22 letters or digits')

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
  created_at: time(),
  updated_at: time(),
})
/** Refusals of operations that change a grimoire. */
const writing = [
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
  audit: keyring,
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
    'The first keyring returns 201. A change must name the `revision` that was read and keep `key_id` and `public_key`. A different `key_id` requires `replace: true` and is rejected while anything is sealed under the current one. If the agent has an owner, it requires the owner’s session.',
  permission: 'grimoire:write',
  audit: keyring,
  alsoStatus: [201],
  params: ofAgent,
  body: z.strictObject({
    keyring: KeyringForm,
    revision: z.int().min(1).max(2_147_483_646).optional(),
    replace: z.boolean().default(false),
  }),
  output: z.strictObject({
    data: z.strictObject({ agent_id: z.string(), key_id: z.string(), revision: z.int(), updated_at: time() }),
  }),
  refusals: [...writing, 'forbidden', 'held', 'step_up_required'],
})

const ofEntry = z.strictObject({ id: AgentParam, entryId: EntryId })
export const EnvelopeForm = z
  .strictObject({
    v: z.literal(1),
    key_id: KeyId,
    nonce: bytes(12),
    ciphertext: z
      .string()
      .max(Math.ceil(((grimoireEntryBytes + 16) * 4) / 3), 'must have at most 64 KiB')
      .refine(isCiphertext, 'is not a sealed envelope. A client must seal private content before sending it'),
  })
  .meta({
    id: 'Envelope',
    description: 'AES-256-GCM, sealed before it was sent. Id, agent, kind and scope are its associated data.',
  })
export type EnvelopeForm = z.output<typeof EnvelopeForm>

const Json: z.ZodType = z.json()
const Revision = z.int().min(1).max(2_147_483_646)
const content = {
  content: Json,
  confidence: z.number().min(0).max(1),
  tags: z.array(z.string().min(1).max(64)).max(32, 'must have at most 32 items').default([]),
  provenance: Json.default(null),
  parents: z.array(z.string().min(1).max(200)).max(100, 'must have at most 100 items').default([]),
  valid_from: Timestamp.optional(),
}
const ValidUntil = Timestamp.optional().meta({ description: 'When the entry is deleted automatically' })

const Body = z.discriminatedUnion(
  'scope',
  [
    z.strictObject({
      scope: z.literal('private'),
      id: EntryId.meta({ description: 'Created by the client: the envelope is bound to it' }),
      kind: z.enum(entryKinds),
      envelope: EnvelopeForm,
      valid_until: ValidUntil,
    }),
    z.strictObject({
      scope: z.literal('clade'),
      kind: z.enum(entryKinds).exclude(['episode'], { error: 'an episode must be private' }),
      ...content,
      valid_until: ValidUntil,
    }),
  ],
  { error: 'must be `private` or `clade`. Only a performance card can be public' },
)
const EditBody = z.discriminatedUnion(
  'scope',
  [
    z.strictObject({
      scope: z.literal('private'),
      revision: Revision,
      envelope: EnvelopeForm,
      valid_until: ValidUntil,
    }),
    z.strictObject({ scope: z.literal('clade'), revision: Revision, ...content, valid_until: ValidUntil }),
  ],
  { error: 'must be `private` or `clade`. Only a performance card can be public' },
)
export type EditBody = z.output<typeof EditBody>

export const EntryView = z
  .strictObject({
    id: z.string(),
    agent_id: z.string(),
    kind: z.enum(entryKinds),
    scope: z.enum(entryScopes),
    envelope: EnvelopeForm.nullable().meta({ description: 'Only for private entries' }),
    entry: z
      .strictObject({
        content: Json,
        confidence: z.number().nullable(),
        tags: z.array(z.string()),
        provenance: Json,
        parents: z.array(z.string()),
        valid_from: time().nullable(),
        valid_until: time().nullable(),
      })
      .nullable()
      .meta({ description: 'Only for `clade` entries' }),
    valid_until: time().nullable(),
    revision: Revision.meta({ description: 'Starts at 1. To change an entry, send the revision that you read' }),
    created_at: time(),
    updated_at: time(),
  })
  .meta({ id: 'GrimoireEntry' })
export type EntryView = z.output<typeof EntryView>

const Changed = z.strictObject({
  id: z.string(),
  kind: z.enum(entryKinds),
  scope: z.enum(entryScopes),
  revision: Revision,
  updated_at: time(),
})
const bodyLimit = 512 * 1024
const entry = { resourceType: 'grimoire_entry' }

export const listEntries = operation({
  id: 'listGrimoireEntries',
  method: 'get',
  path: '/v1/agents/{id}/grimoire',
  summary: 'List the entries of an agent’s grimoire, newest first',
  description:
    'Only for the agent and its owner, not even for admins. Private entries are returned as sealed envelopes. A page ends early if its entries have more than 1 MiB.',
  permission: 'grimoire:read',
  audit: entry,
  params: ofAgent,
  query: z.strictObject({
    kind: z.enum(entryKinds).optional(),
    scope: z.enum(entryScopes).optional(),
    cursor: Cursor.optional(),
    limit: PageLimit,
  }),
  contributed: true,
  output: page(EntryView),
  refusals: ['not_found'],
})

export const addEntry = operation({
  id: 'addGrimoireEntry',
  method: 'post',
  path: '/v1/agents/{id}/grimoire',
  summary: 'Write an entry into an agent’s grimoire',
  description: `\`private\`: an envelope that the client sealed under the agent’s keyring; readable content is rejected. \`clade\`: readable by the installation, sealed at rest, and shared with siblings only on request; content with a private key or a seed phrase is rejected (\`content_blocked\`, with kinds and places). At most 64 KiB per entry and ${maxEntries.toLocaleString('en')} entries per agent.`,
  permission: 'grimoire:write',
  stores: 'one record',
  audit: entry,
  params: ofAgent,
  bodyLimit,
  body: Body,
  output: z.strictObject({ data: Changed }),
  refusals: [...writing, 'id_in_use', 'too_large', 'content_blocked'],
})

export const readEntry = operation({
  id: 'readGrimoireEntry',
  method: 'get',
  path: '/v1/agents/{id}/grimoire/{entryId}',
  summary: 'Get an entry of an agent’s grimoire',
  permission: 'grimoire:read',
  audit: entry,
  params: ofEntry,
  contributed: true,
  output: z.strictObject({ data: EntryView }),
  refusals: ['not_found'],
})

export const editEntry = operation({
  id: 'editGrimoireEntry',
  method: 'put',
  path: '/v1/agents/{id}/grimoire/{entryId}',
  summary: 'Replace the content of an entry',
  description:
    'Kind and scope cannot change: the envelope is bound to them. `revision` must be the revision that you read. If the entry has changed since, the request returns 409 and changes nothing.',
  permission: 'grimoire:write',
  stores: 'bytes',
  audit: entry,
  params: ofEntry,
  bodyLimit,
  body: EditBody,
  output: z.strictObject({ data: Changed }),
  refusals: [...writing, 'too_large', 'content_blocked'],
})

export const deleteEntry = operation({
  id: 'deleteGrimoireEntry',
  method: 'delete',
  path: '/v1/agents/{id}/grimoire/{entryId}',
  summary: 'Delete an entry',
  description:
    'Works for paused agents. For a retired agent, only its owner can delete. Deletes the entry permanently.',
  permission: 'grimoire:write',
  audit: entry,
  deletes: { counts: 'entriesDeleted' },
  params: ofEntry,
  output: z.undefined(),
  refusals: ['not_found', 'held'],
})
