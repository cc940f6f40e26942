import { z } from 'zod'
import { snapshotKinds } from '#lib/client/sealing/snapshot.ts'
import { operation } from '#lib/kernel/operation.ts'
import { Cursor, PageLimit, page } from '#lib/kernel/pages.ts'
import { mostInHour, mostInsurances, mostOnDemand, snapshotIdForm, snapshotStates, stateTypes } from './rules.ts'

const when = z.iso.datetime()
const AgentParam = z
  .string()
  .min(1)
  .max(64)
  .regex(/^\P{Cc}*$/u, 'holds a control character')
const ofAgent = z.strictObject({ id: AgentParam })
const ofSnapshot = z.strictObject({
  id: AgentParam,
  snapshotId: z.string().regex(snapshotIdForm, 'is no id of a snapshot: `snap_` and 22 letters or digits'),
})

export const SnapshotView = z
  .strictObject({
    id: z.string(),
    agent_id: z.string(),
    kind: z.enum(snapshotKinds),
    state: z.enum(snapshotStates),
    key_id: z.string().meta({ description: 'The keyring whose public key it is sealed to' }),
    bytes: z.number().nullable().meta({ description: 'Of the sealed file' }),
    sha256: z.string().nullable().meta({ description: 'Of the sealed file' }),
    failure: z
      .array(z.strictObject({ kind: z.string(), path: z.string() }))
      .nullable()
      .meta({ description: 'Why there is none: which kind of secret stands where. Never what it is' }),
    created_at: when,
    ready_at: when.nullable(),
    expires_at: when.nullable().meta({ description: 'Null: an insurance of a living agent' }),
  })
  .meta({ id: 'Snapshot' })
export type SnapshotView = z.output<typeof SnapshotView>

const snapshot = { resourceType: 'snapshot' }

export const storeState = operation({
  id: 'storeAgentState',
  method: 'put',
  path: '/v1/agents/{id}/state',
  summary: 'Upload an agent’s state, for its snapshots',
  description:
    'The newest alone is kept. 50 MiB at most. Of JSON and JSON Lines the fields that hold keys of wallets and sessions are emptied before it is kept: `bytes` and `sha256` are of what is kept. A private key or a seed phrase anywhere else in its text refuses it (`content_blocked`, with kinds and places). Compressed or encrypted bytes go into a snapshot as they are: nobody looks into them.',
  permission: 'snapshots:write',
  stores: 'bytes',
  audit: { action: 'update', resourceType: 'agent_state' },
  limit: 'write',
  status: 200,
  params: ofAgent,
  upload: stateTypes,
  output: z.strictObject({
    data: z.strictObject({ agent_id: z.string(), bytes: z.int(), sha256: z.string(), uploaded_at: when }),
  }),
  refusals: [
    'not_found',
    'paused',
    'dead',
    'restricted',
    'wrong_state',
    'conflict',
    'fenced',
    'too_large',
    'content_blocked',
    'idempotency_in_progress',
  ],
})

export const readState = operation({
  id: 'readAgentState',
  method: 'get',
  path: '/v1/agents/{id}/state',
  summary: 'How large an agent’s uploaded state is, and since when it is here',
  description: 'Its bytes are in the agent’s snapshots and exports.',
  permission: 'snapshots:read',
  audit: { action: 'read', resourceType: 'agent_state' },
  limit: 'read',
  status: 200,
  params: ofAgent,
  output: z.strictObject({
    data: z.strictObject({
      agent_id: z.string(),
      media_type: z.string(),
      bytes: z.int(),
      sha256: z.string(),
      uploaded_at: when,
    }),
  }),
  refusals: ['not_found'],
})

export const deleteState = operation({
  id: 'deleteAgentState',
  method: 'delete',
  path: '/v1/agents/{id}/state',
  summary: 'Delete the state that an agent uploaded',
  description: 'Snapshots that have it keep it until they go.',
  permission: 'snapshots:write',
  audit: { action: 'delete', resourceType: 'agent_state' },
  deletes: { counts: 'agentStatesDeleted' },
  limit: 'write',
  status: 204,
  params: ofAgent,
  output: z.undefined(),
  refusals: ['not_found', 'held'],
})

export const makeSnapshot = operation({
  id: 'makeSnapshot',
  method: 'post',
  path: '/v1/agents/{id}/snapshots',
  summary: 'Make a snapshot of an agent',
  description: `Its documents, grimoire, settings, keyring and uploaded state, sealed to the public key of its keyring: the server makes it and cannot read it. Watch its state until it is ready. It goes four hours after it was asked for; ${mostOnDemand} may be there at once, and ${mostInHour} be made in an hour. Where a key is left in what would go into it, it fails and says which kind stands where.`,
  permission: 'snapshots:write',
  stores: 'one record',
  isOpenOutsideRegion: true,
  audit: { action: 'create', ...snapshot },
  limit: 'write',
  status: 202,
  params: ofAgent,
  output: z.strictObject({ data: SnapshotView }),
  refusals: ['not_found', 'conflict', 'wrong_state', 'fenced', 'paused', 'dead', 'restricted'],
})

export const restoreAgent = operation({
  id: 'restoreAgent',
  method: 'post',
  path: '/v1/agents/{id}/snapshots/restore',
  summary: 'Bring back what a snapshot has',
  description:
    'The opened content of a snapshot, line by line, into an active agent of the same owner: the agent itself or another one. Existing documents and entries stay unchanged. For another agent they get new ids, the same at each repetition, and the client seals private entries again under ids of its own. Settings are restored if the grimoire is empty; a state replaces the previous one when it is complete; keyrings are not restored. An error says how much was stored.',
  permission: 'snapshots:write',
  stores: 'one record',
  audit: { action: 'update', resourceType: 'agent' },
  limit: 'write',
  status: 200,
  params: ofAgent,
  upload: ['application/x-ndjson'],
  output: z.strictObject({
    data: z.strictObject({
      agent_id: z.string(),
      documents: z.int().meta({ description: 'That came back' }),
      entries: z.int().meta({ description: 'That came back' }),
      there: z.int().meta({ description: 'Documents and entries that were there' }),
      ended: z.int().meta({ description: 'Entries whose term is over' }),
      state_bytes: z.int().meta({ description: '0: there was none' }),
      settings: z.boolean().meta({ description: 'Whether they came back' }),
    }),
  }),
  refusals: [
    'not_found',
    'paused',
    'dead',
    'restricted',
    'wrong_state',
    'fenced',
    'too_large',
    'malformed_json',
    'content_rejected',
    'content_blocked',
    'erased',
    'conflict',
    'id_in_use',
    'idempotency_in_progress',
  ],
})

export const listSnapshots = operation({
  id: 'listSnapshots',
  method: 'get',
  path: '/v1/agents/{id}/snapshots',
  summary: 'Snapshots of an agent, newest first',
  description: `For the agent and its owner. Of a living agent with a keyring an insurance is made every six hours, and the newest ${mostInsurances} are kept; 30 days after its death they go.`,
  permission: 'snapshots:read',
  audit: { action: 'read', ...snapshot },
  limit: 'read',
  status: 200,
  params: ofAgent,
  query: z.strictObject({ kind: z.enum(snapshotKinds).optional(), cursor: Cursor.optional(), limit: PageLimit }),
  output: page(SnapshotView),
  refusals: ['not_found'],
})

export const readSnapshot = operation({
  id: 'readSnapshot',
  method: 'get',
  path: '/v1/agents/{id}/snapshots/{snapshotId}',
  summary: 'A snapshot of an agent',
  permission: 'snapshots:read',
  audit: { action: 'read', ...snapshot },
  limit: 'read',
  status: 200,
  params: ofSnapshot,
  output: z.strictObject({ data: SnapshotView }),
  refusals: ['not_found'],
})

export const readSnapshotKey = operation({
  id: 'readSnapshotKey',
  method: 'get',
  path: '/v1/agents/{id}/snapshots/{snapshotId}/key',
  summary: 'The wrapped key of a snapshot',
  description:
    'Sealed to the agent’s keyring (RFC 9180: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-256-GCM); the passphrase opens it on the owner’s machine. It lies outside the database and outside the objects: once it is destroyed, no copy of the snapshot opens.',
  permission: 'snapshots:read',
  audit: { action: 'read', resourceType: 'snapshot_key' },
  limit: 'read',
  status: 200,
  params: ofSnapshot,
  output: z.strictObject({
    data: z.strictObject({
      snapshot_id: z.string(),
      agent_id: z.string(),
      key_id: z.string(),
      sealed_key: z.strictObject({ suite: z.string(), enc: z.string(), ciphertext: z.string() }),
    }),
  }),
  refusals: ['not_found', 'wrong_state', 'expired'],
})

export const linkSnapshot = operation({
  id: 'linkSnapshot',
  method: 'post',
  path: '/v1/agents/{id}/snapshots/{snapshotId}/link',
  summary: 'A link to the sealed file of a snapshot',
  description: 'Good for four hours at most, for whoever has it; without the key it opens nothing.',
  permission: 'snapshots:read',
  audit: { action: 'export', ...snapshot },
  limit: 'write',
  status: 201,
  params: ofSnapshot,
  output: z.strictObject({
    data: z.strictObject({
      snapshot_id: z.string(),
      url: z.url().optional().meta({ description: 'Absent from a repetition by Idempotency-Key' }),
      expires_at: when,
    }),
  }),
  secrets: ['url'],
  refusals: ['not_found', 'wrong_state', 'expired', 'conflict', 'fenced'],
})

export const downloadSnapshot = operation({
  id: 'downloadSnapshot',
  method: 'get',
  path: '/v1/snapshots/{token}',
  summary: 'The sealed file of a snapshot, by a link',
  description: 'The link is the right to it. It ends when the snapshot goes.',
  permission: 'public',
  audit: { action: 'export', ...snapshot },
  limit: 'read',
  status: 200,
  params: z.strictObject({ token: z.string().min(1).max(128) }),
  output: z.string(),
  produces: ['application/octet-stream'],
  refusals: ['not_found'],
})

export const deleteSnapshot = operation({
  id: 'deleteSnapshot',
  method: 'delete',
  path: '/v1/agents/{id}/snapshots/{snapshotId}',
  summary: 'Delete a snapshot',
  description:
    'It is out of reach at once, and its links end. Its key is destroyed first, which makes every copy of it unreadable; where the folder of keys or the object store does not answer, that is tried again every minute, and `key_destroyed` says so.',
  permission: 'snapshots:write',
  audit: { action: 'delete', ...snapshot },
  deletes: { counts: 'snapshotsDeleted' },
  limit: 'write',
  status: 200,
  params: ofSnapshot,
  output: z.strictObject({
    data: z.strictObject({
      id: z.string(),
      key_destroyed: z
        .boolean()
        .meta({ description: 'false: not yet. Until then copies that somebody has still open' }),
    }),
  }),
  refusals: ['not_found', 'held'],
})
