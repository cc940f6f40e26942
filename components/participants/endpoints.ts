import type { Endpoint } from '#lib/client/request.ts'
import type {
  cancelForParticipant,
  fileForParticipant,
  listForParticipant,
  planForParticipant,
} from '#lib/domains/privacy-requests/contract.ts'
import type { editParticipant, liftRestriction, listParticipants } from '#lib/domains/projects/participants/contract.ts'
import type { Output } from '#lib/kernel/operation.ts'

const all = '/api/projects/{projectId}/participants'
const one = `${all}/{participantId}` as const

export const participantsAt: Endpoint<typeof listParticipants> = { method: 'get', path: all }
export const editAt: Endpoint<typeof editParticipant> = { method: 'patch', path: one }
export const liftAt: Endpoint<typeof liftRestriction> = { method: 'delete', path: `${one}/restriction` }
export const planAt: Endpoint<typeof planForParticipant> = { method: 'get', path: `${one}/plan` }
export const requestsAt: Endpoint<typeof listForParticipant> = { method: 'get', path: `${one}/requests` }
export const fileForParticipantAt: Endpoint<typeof fileForParticipant> = { method: 'post', path: `${one}/requests` }
export const cancelAt: Endpoint<typeof cancelForParticipant> = { method: 'post', path: `${one}/requests/{id}/cancel` }

/** Queries that a change of a participant or of their requests invalidates. */
export const participantPaths = [all]

export type ParticipantPage = Output<typeof listParticipants>
export type Participant = ParticipantPage['data'][number]
/** Whether the reader sees an address with which nobody can claim the participation before it is confirmed. */
export const isUnconfirmed = ({
  claimed,
  email,
  email_confirmed,
}: Pick<Participant, 'claimed' | 'email' | 'email_confirmed'>): boolean =>
  email !== null && !claimed && !email_confirmed
export type ParticipantRequests = Output<typeof listForParticipant>
export type ParticipantRequest = ParticipantRequests['data'][number]
export type FiledForParticipant = Output<typeof fileForParticipant>

const coded = encodeURIComponent
export const participantPage = (projectId: string, id: string): string =>
  `/projects/${coded(projectId)}/participants/${coded(id)}`

/** The query of a list for a search text, or only for participants with an address to confirm. */
export const participantQuery = (
  q: string,
  isUnconfirmed = false,
): { limit: string; q?: string; unconfirmed?: 'true' } => {
  const text = q.trim().slice(0, 200)
  return { limit: '25', ...(text !== '' && { q: text }), ...(isUnconfirmed && { unconfirmed: 'true' }) }
}
