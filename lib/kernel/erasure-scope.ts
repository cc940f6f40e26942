/**
 * The subject of a privacy request: a person with the agents they own, a single agent, or a single participant of a project. Which
 * agents and participations belong to a person is fixed when the fence is raised.
 */
export interface Subject {
  account: string | null
  agents: readonly string[]
  /** Participations in projects: those that the account claimed, or the one that the request is about. */
  participants?: readonly string[]
}
export const partKinds = ['project', 'conversation', 'message', 'document'] as const
export type PartKind = (typeof partKinds)[number]
/** A part of a project, or the whole project, by ids. `conversation` is set if the part is a conversation or belongs to one. */
export interface ProjectPart {
  kind: PartKind
  id: string
  project: string
  conversation: string | null
}
/** A single unit or skill, by its id. */
export type RecordScope = { unit: string } | { skill: string }
/** What an erasure covers. A data source handles the scopes that it knows and has no data for the others. */
export type ErasureScope = RecordScope | { subject: Subject } | { part: ProjectPart }
