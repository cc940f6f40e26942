import type { Endpoint } from '#lib/client/request.ts'
import type { decideReferences, listUndecidedReferences } from '#lib/domains/knowledge/erasure/contract.ts'
import type { listErasures, readErasure } from '#lib/domains/privacy-requests/erasures/contract.ts'
import type { decideThread, listUndecidedThreads } from '#lib/domains/projects/checkpoints/contract.ts'
import type { cancelErasure, retryErasure } from '#lib/domains/projects/erasing/contract.ts'
import type { Output } from '#lib/kernel/operation.ts'

export const erasuresAt: Endpoint<typeof listErasures> = { method: 'get', path: '/api/erasures' }
export const erasureAt: Endpoint<typeof readErasure> = { method: 'get', path: '/api/erasures/{id}' }
export const threadsAt: Endpoint<typeof listUndecidedThreads> = { method: 'get', path: '/api/erasures/{id}/threads' }
export const decideThreadAt: Endpoint<typeof decideThread> = {
  method: 'post',
  path: '/api/erasures/{id}/threads/{threadId}/decision',
}
export const retryErasureAt: Endpoint<typeof retryErasure> = { method: 'post', path: '/api/erasures/{id}/retry' }
export const cancelErasureAt: Endpoint<typeof cancelErasure> = { method: 'post', path: '/api/erasures/{id}/cancel' }
const references = '/api/admin/erasures/{id}/references'
export const referencesAt: Endpoint<typeof listUndecidedReferences> = { method: 'get', path: references }
export const decideReferencesAt: Endpoint<typeof decideReferences> = { method: 'post', path: references }
export type ErasurePage = Output<typeof listErasures>
export type Erasure = ErasurePage['data'][number]
export type Run = Output<typeof readErasure>['data']
export type Thread = Output<typeof listUndecidedThreads>['data'][number]
export type UndecidedReference = Output<typeof listUndecidedReferences>['data'][number]

const placeKeys = {
  original_author: 'originalAuthor',
  'source.expert_id': 'expert',
  'metadata.validated_by': 'validator',
  'skill.author': 'skillAuthor',
} as const
/** The message key for a place in a record: next-intl nests keys at dots, so the API name cannot be one. */
export const referenceKey = (place: UndecidedReference['places'][number]) => placeKeys[place]

/** The state changes soon without a user action. */
export const isLive = ({ state }: Pick<Erasure, 'state'>): boolean =>
  state === 'planning' || state === 'erasing' || state === 'verifying'
/** Milliseconds between polls of a running erasure. */
export const erasurePollInterval = 2_000
