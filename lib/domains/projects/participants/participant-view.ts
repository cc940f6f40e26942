import type { Actor } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { restrictionReasons } from '#lib/kernel/restriction.ts'
import type { Queryable } from '#lib/stores/postgres/statement.ts'
import type { SeenProject } from '../repository.ts'
import type { ParticipantView } from './contract.ts'
import { type CountedRow, type ParticipantLock, type ParticipantRow, participantInProject } from './repository.ts'
import { restrictedReader } from './restricting.ts'

type Access = Pick<SeenProject, 'role' | 'office'>
type Reader = Pick<Actor, 'kind' | 'id'>

const isHidden = (actor: Reader, row: Pick<ParticipantRow, 'restricted_at'>): boolean =>
  restrictedReader(actor) !== null && row.restricted_at !== null

export const noParticipant = (): Problem =>
  new Problem('not_found', 'The project has no such participant, or they were erased.')

/** Whether the reader acts for the participants: owners of the project, managers of its organization, admins. */
export const mayActForParticipants = ({ role, office }: Access): boolean => role === 'owner' || office !== null

/** A participant as the reader may read it: without name and address for agents while the processing of the data is restricted. */
export const participantView = (access: Access, actor: Reader, row: ParticipantRow): ParticipantView => ({
  id: row.id,
  project_id: row.project_id,
  external_id: row.external_id,
  name: isHidden(actor, row) ? null : row.name,
  email: mayActForParticipants(access) && !isHidden(actor, row) ? row.email : null,
  email_confirmed: row.email_confirmed,
  claimed: row.account_id !== null,
  claimed_at: row.claimed_at?.toISOString() ?? null,
  restricted_at: row.restricted_at?.toISOString() ?? null,
  restricted_for: restrictionReasons.filter((reason) => row.restricted_for.includes(reason)),
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})
export const countedView = (access: Access, actor: Reader, row: CountedRow) => ({
  ...participantView(access, actor, row),
  messages: isHidden(actor, row) ? 0 : row.messages,
})

/** A participant of the project. `change` locks the row. @throws {Problem} `not_found` */
export async function participantIn(
  on: Queryable,
  project: string,
  id: string,
  lock: ParticipantLock = 'none',
): Promise<ParticipantRow> {
  const [row] = await participantInProject(on, { project, id }, lock)
  if (!row) throw noParticipant()
  return row
}
