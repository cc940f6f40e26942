import type { Endpoint } from '#lib/client/request.ts'
import type {
  deleteSnapshot,
  deleteState,
  linkSnapshot,
  listSnapshots,
  makeSnapshot,
  readState,
} from '#lib/domains/snapshots/contract.ts'
import type { Output } from '#lib/kernel/operation.ts'

const ofAgent = '/v1/agents/{id}'
const all = `${ofAgent}/snapshots` as const
const one = `${all}/{snapshotId}` as const

export const snapshotsAt: Endpoint<typeof listSnapshots> = { method: 'get', path: all }
export const makeAt: Endpoint<typeof makeSnapshot> = { method: 'post', path: all }
export const linkAt: Endpoint<typeof linkSnapshot> = { method: 'post', path: `${one}/link` }
export const deleteAt: Endpoint<typeof deleteSnapshot> = { method: 'delete', path: one }
export const deleteStateAt: Endpoint<typeof deleteState> = { method: 'delete', path: `${ofAgent}/state` }
/** Path prefix of all cached answers about snapshots. */
export const snapshotPaths = [all]
/** Rows per page of a list. */
export const snapshotsPerPage = 50

export type SnapshotPage = Output<typeof listSnapshots>
export type Snapshot = SnapshotPage['data'][number]
export type AgentStateView = Output<typeof readState>['data']
