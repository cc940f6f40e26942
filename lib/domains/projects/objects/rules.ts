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

/** Of an item that is looked for though nothing was there when it was planned: it counts nothing. */
const late = 'late:'
export const itemOf = (key: string, { isThere }: { isThere: boolean }): string =>
  isThere && !key.startsWith(late) ? key : late + key
export const keyOf = (item: string): string => (item.startsWith(late) ? item.slice(late.length) : item)
export const isCounted = (item: string): boolean => !item.startsWith(late)
