import type { OpenApiSchema } from './schemas.ts'

type Responses = Record<string, OpenApiSchema>
export interface DescribedOperation extends OpenApiSchema {
  responses: Responses
}
export type DescribedPaths = Record<string, Record<string, DescribedOperation>>

const isReference = (response: OpenApiSchema): boolean => '$ref' in response

/** `NoContent` for a response without a body, otherwise `Success`. */
const nameOf = (response: OpenApiSchema): string => ('content' in response ? 'Success' : 'NoContent')

/**
 * Shares responses that several operations have in common. Their names get numbers, in the order of their text.
 * @returns the paths with references, and the shared responses by name
 */
export function sharedResponses(paths: DescribedPaths): { paths: DescribedPaths; shared: Responses } {
  const all = Object.values(paths).flatMap((methods) =>
    Object.values(methods).flatMap(({ responses }) => Object.values(responses).filter((one) => !isReference(one))),
  )
  const names = new Map<string, string>()
  const shared: Responses = {}
  for (const [text, [first, ...others]] of [...Map.groupBy(all, (one) => JSON.stringify(one))].sort()) {
    if (!first || others.length === 0) continue
    const taken = Object.keys(shared).filter((one) => one.replace(/\d{1,4}$/, '') === nameOf(first)).length
    const name = taken === 0 ? nameOf(first) : `${nameOf(first)}${taken + 1}`
    shared[name] = first
    names.set(text, name)
  }
  const referenceTo = (response: OpenApiSchema): OpenApiSchema => {
    const name = names.get(JSON.stringify(response))
    return name === undefined ? response : { $ref: `#/components/responses/${name}` }
  }
  const mapped = <T, R>(of: Record<string, T>, change: (one: T) => R): Record<string, R> =>
    Object.fromEntries(Object.entries(of).map(([key, one]) => [key, change(one)]))
  return {
    shared,
    paths: mapped(paths, (methods) =>
      mapped(methods, (described) => ({ ...described, responses: mapped(described.responses, referenceTo) })),
    ),
  }
}
