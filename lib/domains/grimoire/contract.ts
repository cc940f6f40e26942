import { z } from 'zod'
import { operation } from '#lib/kernel/operation.ts'
import { Cursor, PageLimit, page, Timestamp } from '#lib/kernel/pages.ts'
import {
  entryKinds,
  entryScopes,
  grimoireEntryBytes,
  grimoireEntryIdForm,
  isBase64Bytes,
  isCiphertext,
  keyIdForm,
  mostEntries,
} from './rules.ts'

const when = z.iso.datetime()
const AgentParam = z
  .string()
  .min(1)
  .max(64)
  .regex(/^\P{Cc}*$/u, 'holds a control character')
const ofAgent = z.strictObject({ id: AgentParam })
const EntryId = z.string().regex(grimoireEntryIdForm, 'is no id of an entry: `ent_` and 22 letters or digits')
const ofEntry = z.strictObject({ id: AgentParam, entryId: EntryId })
const bytes = (length: number) =>
  z
    .string()
    .refine((text) => isBase64Bytes(text, (n) => n === length), `takes ${length} bytes in base64url without padding`)
const KeyId = z.string().regex(keyIdForm, 'is no id of a keyring: `key_` and 22 letters or digits')

/** A keyring as clients create it. The server cannot open any part of it. */
export const KeyringForm = z
  .strictObject({
    v: z.literal(1),
    key_id: KeyId,
    kdf: z.strictObject({
      name: z.literal('argon2id'),
      m: z.int().min(65_536, 'is 64 MiB at least').max(1_048_576, 'is 1 GiB at most').meta({ description: 'KiB' }),
      t: z.int().min(3, 'is 3 at least').max(16, 'is 16 at most'),
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
      'Made and opened by clients alone. The master key is wrapped twice by AES-256-GCM: under what Argon2id makes of the passphrase, and under what HKDF makes of the recovery code.',
  })
export type KeyringForm = z.output<typeof KeyringForm>
export const EnvelopeForm = z
  .strictObject({
    v: z.literal(1),
    key_id: KeyId,
    nonce: bytes(12),
    ciphertext: z
      .string()
      .max(Math.ceil(((grimoireEntryBytes + 16) * 4) / 3), 'has 64 KiB at most')
      .refine(isCiphertext, 'is not what a client seals: nothing is taken that can be read'),
  })
  .meta({
    id: 'Envelope',
    description: 'AES-256-GCM, sealed before it was sent; id, agent, kind and scope are its associated data.',
  })
export type EnvelopeForm = z.output<typeof EnvelopeForm>

const Json: z.ZodType = z.json()
const Revision = z.int().min(1).max(2_147_483_646)
const content = {
  content: Json,
  confidence: z.number().min(0).max(1),
  tags: z.array(z.string().min(1).max(64)).max(32, 'has 32 at most').default([]),
  provenance: Json.default(null),
  parents: z.array(z.string().min(1).max(200)).max(100, 'has 100 at most').default([]),
  valid_from: Timestamp.optional(),
}
const ValidUntil = Timestamp.optional().meta({ description: 'The entry goes by itself then' })

const Body = z.discriminatedUnion(
  'scope',
  [
    z.strictObject({
      scope: z.literal('private'),
      id: EntryId.meta({ description: 'The client makes it: the envelope is bound to it' }),
      kind: z.enum(entryKinds),
      envelope: EnvelopeForm,
      valid_until: ValidUntil,
    }),
    z.strictObject({
      scope: z.literal('clade'),
      kind: z.enum(entryKinds).exclude(['episode'], { error: 'an episode is private always' }),
      ...content,
      valid_until: ValidUntil,
    }),
  ],
  { error: 'takes `private` or `clade`; `public` is the performance card alone' },
)
const EditBody = z.discriminatedUnion(
  'scope',
  [
    z.strictObject({
      ...{ scope: z.literal('private'), revision: Revision },
      ...{ envelope: EnvelopeForm, valid_until: ValidUntil },
    }),
    z.strictObject({ scope: z.literal('clade'), revision: Revision, ...content, valid_until: ValidUntil }),
  ],
  { error: 'takes `private` or `clade`; `public` is the performance card alone' },
)
export type EditBody = z.output<typeof EditBody>

export const EntryView = z
  .strictObject({
    id: z.string(),
    agent_id: z.string(),
    kind: z.enum(entryKinds),
    scope: z.enum(entryScopes),
    envelope: EnvelopeForm.nullable().meta({ description: 'Of a private one' }),
    entry: z
      .strictObject({
        content: Json,
        confidence: z.number().nullable(),
        tags: z.array(z.string()),
        provenance: Json,
        parents: z.array(z.string()),
        valid_from: when.nullable(),
        valid_until: when.nullable(),
      })
      .nullable()
      .meta({ description: 'Of one for the clade' }),
    valid_until: when.nullable(),
    revision: Revision.meta({ description: 'From 1; who changes an entry names the one that they read' }),
    created_at: when,
    updated_at: when,
  })
  .meta({ id: 'GrimoireEntry' })
export type EntryView = z.output<typeof EntryView>

const Changed = z.strictObject({
  id: z.string(),
  kind: z.enum(entryKinds),
  scope: z.enum(entryScopes),
  revision: Revision,
  updated_at: when,
})
const KeyringView = z.strictObject({
  agent_id: z.string(),
  keyring: KeyringForm,
  revision: z.int(),
  created_at: when,
  updated_at: when,
})
const bodyLimit = 512 * 1024
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
const entry = { resourceType: 'grimoire_entry' }
const keyring = { resourceType: 'keyring' }

export const readKeyring = operation({
  id: 'readKeyring',
  method: 'get',
  path: '/v1/agents/{id}/keyring',
  summary: 'The keyring of an agent, as its owner’s client made it',
  description:
    'For the agent and its owner. The passphrase opens it in the browser or on the command line; the server cannot.',
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
  summary: 'Store the keyring of an agent, or the same keys under another passphrase',
  description:
    'The first: 201. A change names the `revision` that was read, and keeps `key_id` and `public_key`. Another `key_id` takes `replace: true`, and is refused while anything is sealed under the present one.',
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

export const listEntries = operation({
  id: 'listGrimoireEntries',
  method: 'get',
  path: '/v1/agents/{id}/grimoire',
  summary: 'Entries of an agent’s grimoire, newest first',
  description:
    'For the agent and its owner; nobody else, no admin either. Private ones as the envelopes that they are. A page ends early where its entries have more than 1 MiB.',
  permission: 'grimoire:read',
  audit: { action: 'read', ...entry },
  limit: 'read',
  status: 200,
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
  description: `\`private\`: an envelope that the client sealed under the agent’s keyring; what can be read is refused. \`clade\`: readable by the installation, sealed at rest, and shared with siblings only when that is asked for; a private key or a seed phrase in it refuses it (\`content_blocked\`, with kinds and places). 64 KiB each, ${mostEntries.toLocaleString('en')} of an agent at most.`,
  permission: 'grimoire:write',
  stores: 'one record',
  audit: { action: 'create', ...entry },
  limit: 'write',
  status: 201,
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
  summary: 'An entry of an agent’s grimoire',
  permission: 'grimoire:read',
  audit: { action: 'read', ...entry },
  limit: 'read',
  status: 200,
  params: ofEntry,
  contributed: true,
  output: z.strictObject({ data: EntryView }),
  refusals: ['not_found'],
})

export const editEntry = operation({
  id: 'editGrimoireEntry',
  method: 'put',
  path: '/v1/agents/{id}/grimoire/{entryId}',
  summary: 'Put other content into an entry',
  description:
    'Kind and scope stay: the envelope is bound to them. `revision` is the one that was read: where another is there by now, nothing is changed (409).',
  permission: 'grimoire:write',
  stores: 'bytes',
  audit: { action: 'update', ...entry },
  limit: 'write',
  status: 200,
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
  description: 'Also of a paused agent; of a dead one by its owner. Deletes an exchange for good.',
  permission: 'grimoire:write',
  audit: { action: 'delete', ...entry },
  deletes: { counts: 'entriesDeleted' },
  limit: 'write',
  status: 204,
  params: ofEntry,
  output: z.undefined(),
  refusals: ['not_found', 'held'],
})
