import { z } from 'zod'
import { snapshotKinds } from '#lib/client/sealing/snapshot.ts'
import { operation, time } from '#lib/kernel/operation.ts'
import { Cursor, PageLimit, page } from '#lib/kernel/pages.ts'
import { maxInHour, maxInsurances, maxOnDemand, snapshotIdForm, snapshotStates, stateTypes } from './rules.ts'

const AgentParam = z
  .string()
  .min(1)
  .max(64)
  .regex(/^\P{Cc}*$/u, 'must not contain control characters')
const ofAgent = z.strictObject({ id: AgentParam })
const ofSnapshot = z.strictObject({
  id: AgentParam,
  snapshotId: z.string().regex(snapshotIdForm, 'must be the id of a snapshot: `snap_` and 22 letters or digits'),
})

export const SnapshotView = z
  .strictObject({
    id: z.string(),
    agent_id: z.string(),
    kind: z.enum(snapshotKinds),
    state: z.enum(snapshotStates),
    key_id: z.string().meta({ description: 'The keyring to whose public key it is sealed' }),
    bytes: z.number().nullable().meta({ description: 'Size of the sealed file' }),
    sha256: z.string().nullable().meta({ description: 'Hash of the sealed file' }),
    failure: z
      .array(z.strictObject({ kind: z.string(), path: z.string() }))
      .nullable()
      .meta({ description: 'Why creation failed: the kind and place of a secret, never the secret itself' }),
    created_at: time(),
    ready_at: time().nullable(),
    expires_at: time().nullable().meta({ description: 'Null: an automatic snapshot of an agent that is not retired' }),
  })
  .meta({ id: 'Snapshot' })
export type SnapshotView = z.output<typeof SnapshotView>

const snapshot = { resourceType: 'snapshot' }

export const storeState = operation({
  id: 'storeAgentState',
  method: 'put',
  path: '/v1/agents/{id}/state',
  summary: 'Upload an agent’s state for its snapshots',
  description:
    'Only the newest state is stored. Under a legal hold, it cannot be replaced (`held`). At most 50 MiB. In JSON and JSON Lines, fields with wallet and session keys are emptied before storing: `bytes` and `sha256` describe the stored version. A private key or a seed phrase anywhere else in its text rejects the upload (`content_blocked`, with kinds and places). Compressed or encrypted bytes are included in snapshots without inspection.',
  permission: 'snapshots:write',
  stores: 'bytes',
  audit: { resourceType: 'agent_state' },
  params: ofAgent,
  upload: stateTypes,
  output: z.strictObject({
    data: z.strictObject({ agent_id: z.string(), bytes: z.int(), sha256: z.string(), uploaded_at: time() }),
  }),
  refusals: [
    'not_found',
    'paused',
    'dead',
    'restricted',
    'wrong_state',
    'held',
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
  summary: 'Get the size and upload time of an agent’s state',
  description: 'The state itself is in the agent’s snapshots and exports.',
  permission: 'snapshots:read',
  audit: { resourceType: 'agent_state' },
  params: ofAgent,
  output: z.strictObject({
    data: z.strictObject({
      agent_id: z.string(),
      media_type: z.string(),
      bytes: z.int(),
      sha256: z.string(),
      uploaded_at: time(),
    }),
  }),
  refusals: ['not_found'],
})

export const deleteState = operation({
  id: 'deleteAgentState',
  method: 'delete',
  path: '/v1/agents/{id}/state',
  summary: 'Delete the state that an agent uploaded',
  description: 'Snapshots that contain it keep it until they are deleted.',
  permission: 'snapshots:write',
  audit: { resourceType: 'agent_state' },
  deletes: { counts: 'agentStatesDeleted' },
  params: ofAgent,
  output: z.undefined(),
  refusals: ['not_found', 'held'],
})

export const makeSnapshot = operation({
  id: 'makeSnapshot',
  method: 'post',
  path: '/v1/agents/{id}/snapshots',
  summary: 'Create a snapshot of an agent',
  description: `Contains its documents, grimoire, settings, keyring and uploaded state, sealed to the public key of its keyring: the server creates it and cannot read it. Poll its state until it is ready. It is deleted four hours after the request. At most ${maxOnDemand} can exist at the same time, and ${maxInHour} can be requested per hour. If its content contains a key, creation fails and reports the kind and place of the key.`,
  permission: 'snapshots:write',
  stores: 'one record',
  isOpenOutsideRegion: true,
  audit: snapshot,
  status: 202,
  params: ofAgent,
  output: z.strictObject({ data: SnapshotView }),
  refusals: ['not_found', 'conflict', 'wrong_state', 'fenced', 'paused', 'dead', 'restricted'],
})

export const restoreAgent = operation({
  id: 'restoreAgent',
  method: 'post',
  path: '/v1/agents/{id}/snapshots/restore',
  summary: 'Restore the content of a snapshot',
  description:
    'Sends the opened content of a snapshot, line by line, into an active agent of the same owner: the same agent or another one. Existing documents and entries stay unchanged. For another agent they get new ids, identical at each repetition, and the client seals private entries again under new ids. Settings are restored if the grimoire is empty. A state replaces the previous one when it is complete. Keyrings are not restored.',
  permission: 'snapshots:write',
  stores: 'one record',
  audit: { action: 'update', resourceType: 'agent' },
  params: ofAgent,
  upload: ['application/x-ndjson'],
  output: z.strictObject({
    data: z.strictObject({
      agent_id: z.string(),
      documents: z.int().meta({ description: 'Number restored' }),
      entries: z.int().meta({ description: 'Number restored' }),
      there: z.int().meta({ description: 'Documents and entries that already existed' }),
      ended: z.int().meta({ description: 'Entries that had already expired' }),
      state_bytes: z.int().meta({ description: '0: the snapshot had none' }),
      settings: z.boolean().meta({ description: 'Whether the settings were restored' }),
    }),
  }),
  refusals: [
    'not_found',
    'paused',
    'dead',
    'restricted',
    'wrong_state',
    'held',
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
  summary: 'List the snapshots of an agent, newest first',
  description: `For the agent and its owner. An agent that has a keyring and is not retired gets an automatic snapshot every six hours, and the newest ${maxInsurances} are kept. They are deleted 30 days after the agent is retired.`,
  permission: 'snapshots:read',
  audit: snapshot,
  params: ofAgent,
  query: z.strictObject({ kind: z.enum(snapshotKinds).optional(), cursor: Cursor.optional(), limit: PageLimit }),
  output: page(SnapshotView),
  refusals: ['not_found'],
})

export const readSnapshot = operation({
  id: 'readSnapshot',
  method: 'get',
  path: '/v1/agents/{id}/snapshots/{snapshotId}',
  summary: 'Get a snapshot of an agent',
  permission: 'snapshots:read',
  audit: snapshot,
  params: ofSnapshot,
  output: z.strictObject({ data: SnapshotView }),
  refusals: ['not_found'],
})

export const readSnapshotKey = operation({
  id: 'readSnapshotKey',
  method: 'get',
  path: '/v1/agents/{id}/snapshots/{snapshotId}/key',
  summary: 'Get the wrapped key of a snapshot',
  description:
    'Sealed to the agent’s keyring (RFC 9180: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-256-GCM). The passphrase opens it on the owner’s machine. It is stored outside the database and outside the object store. After it is destroyed, no copy of the snapshot can be opened.',
  permission: 'snapshots:read',
  audit: { resourceType: 'snapshot_key' },
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
  summary: 'Create a link to the sealed file of a snapshot',
  description: 'Valid for at most four hours, for anyone who has it. Without the key, the file cannot be opened.',
  permission: 'snapshots:read',
  audit: { action: 'export', ...snapshot },
  status: 201,
  params: ofSnapshot,
  output: z.strictObject({
    data: z.strictObject({
      snapshot_id: z.string(),
      url: z.url().optional().meta({ description: 'Absent from a repetition by Idempotency-Key' }),
      expires_at: time(),
    }),
  }),
  secrets: ['url'],
  refusals: ['not_found', 'wrong_state', 'expired', 'conflict', 'fenced'],
})

export const downloadSnapshot = operation({
  id: 'downloadSnapshot',
  method: 'get',
  path: '/v1/snapshots/{token}',
  summary: 'Download the sealed file of a snapshot through a link',
  description: 'Anyone with the link can download the file. The link stops working when the snapshot is deleted.',
  permission: 'public',
  audit: { action: 'export', ...snapshot },
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
    'The snapshot and its links are inaccessible immediately. Its key is destroyed first, which makes every copy unreadable. If the key folder or the object store does not answer, the deletion is retried every minute; `key_destroyed` reports whether the key is destroyed.',
  permission: 'snapshots:write',
  audit: snapshot,
  deletes: { counts: 'snapshotsDeleted' },
  params: ofSnapshot,
  output: z.strictObject({
    data: z.strictObject({
      id: z.string(),
      key_destroyed: z
        .boolean()
        .meta({ description: 'False: not yet. Until then, existing copies can still be opened' }),
    }),
  }),
  refusals: ['not_found', 'held'],
})
