import type { Source } from '../sources.ts'

/** Under which the objects of all projects lie; no pointer that somebody reported reaches there but to its own source. */
const ours = 'projects/'

/** The key of a document's object, and where those of a message's attachments begin, without the slash. */
export const objectsOf = ({ project, kind, id }: Pick<Source, 'project' | 'kind' | 'id'>): string =>
  `${ours}${project}/${kind}s/${id}`

/** Whether a key that a pointer names may go with its source: an application's object may, of ours the source's own alone. */
export const mayGo = (source: Source, key: string): boolean => {
  const own = objectsOf(source)
  return !key.startsWith(ours) || key === own || key.startsWith(`${own}/`)
}

/** Where all objects of a project lie. */
export const objectsOfProject = (project: string): string => `${ours}${project}/`
