import type { OwnAgentWhole } from '#components/agents/agents.ts'
import type { Endpoint } from '#lib/client/request.ts'
import type { Role } from '#lib/domains/accounts/rules.ts'
import type {
  addShare,
  listReceived,
  listShares,
  previewShare,
  readClade,
  readShare,
  recallShare,
  ShareView,
  setSharing,
} from '#lib/domains/clades/contract.ts'
import type { Output } from '#lib/kernel/operation.ts'

const at = '/v1/agents/{id}/clade'
const one = `${at}/shares/{shareId}` as const

export const switchAt: Endpoint<typeof setSharing> = { method: 'put', path: `${at}/sharing` }
export const sharesAt: Endpoint<typeof listShares> = { method: 'get', path: `${at}/shares` }
export const shareAt: Endpoint<typeof readShare> = { method: 'get', path: one }
export const sendAt: Endpoint<typeof addShare> = { method: 'post', path: `${at}/shares` }
export const recallAt: Endpoint<typeof recallShare> = { method: 'delete', path: one }

/** Path prefix of all cached answers about sharing. */
export const sharingPaths = [at]
/** Rows per page of a list. */
export const sharesPerPage = 20

export type Clade = Output<typeof readClade>['data']
export type CladeSibling = Clade['siblings'][number]
export type Preview = Output<typeof previewShare>['data']
export type SharePage = Output<typeof listShares>
export type Share = ShareView
export type ReceivedShare = Output<typeof listReceived>['data'][number]

const coded = encodeURIComponent
/** The sharing page of an agent, optionally at the preview of an entry or at a share. */
export function sharingPage(agentId: string, { entry, share }: { entry?: string; share?: string } = {}): string {
  const query = entry === undefined ? '' : `?entry=${coded(entry)}#preview`
  return `/agents/${coded(agentId)}/sharing${query}${share === undefined ? '' : `#${share}`}`
}

/** Why nothing can be shared now. */
export type SharingHindrance = 'role' | 'dead' | 'going' | 'restricted' | 'paused' | 'alone' | 'off'
/** The first reason that blocks sharing; undefined if none does. `role` comes first, because it concerns the reader and not the agent. */
export function sharingHindranceOf(
  role: Role,
  agent: Pick<OwnAgentWhole, 'status' | 'state' | 'restricted_at'>,
  { siblings, sharing_since }: Pick<Clade, 'siblings' | 'sharing_since'>,
): SharingHindrance | undefined {
  if (role === 'auditor') return 'role'
  if (agent.status === 'dead') return 'dead'
  if (agent.state === 'suspended' || agent.state === 'erasing') return 'going'
  if (agent.restricted_at !== null) return 'restricted'
  if (agent.status === 'paused') return 'paused'
  if (siblings.length === 0) return 'alone'
  return sharing_since === null ? 'off' : undefined
}

/** The counts of a recall: siblings that never fetched the share, siblings told to delete it, and confirmations. */
export function recallOf(siblings: Share['siblings']): { unfetched: number; told: number; acknowledged: number } {
  const unfetched = siblings.filter(
    ({ state, delivered_at }) => (state === 'pending' || state === 'expired') && delivered_at === null,
  ).length
  return {
    unfetched,
    told: siblings.length - unfetched,
    acknowledged: siblings.filter(({ state }) => state === 'recalled').length,
  }
}
