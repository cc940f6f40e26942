import type { OpenApiSchema } from './schemas.ts'

/** The minimum number of uses of a shared parameter. */
const leastUses = 2

export interface OpenApiParameter extends OpenApiSchema {
  name: string
  in: 'path' | 'query' | 'header'
}
const pascal = (name: string): string =>
  name.replace(/(?:^|[-_])([a-z])/gi, (_, letter: string) => letter.toUpperCase())

/**
 * Shares parameters that several operations have in common. If two have the same name but differ otherwise, they get numbers, in the
 * order of their text. @returns the shared parameters by name, and a function that replaces a parameter with its reference
 */
export function sharedParameters(all: readonly OpenApiParameter[]) {
  const byText = Map.groupBy(all, (parameter) => JSON.stringify(parameter))
  const names = new Map<string, string>()
  const shared: Record<string, OpenApiParameter> = {}
  for (const text of [...byText.keys()].sort()) {
    const [first, ...others] = byText.get(text) ?? []
    if (!first || others.length + 1 < leastUses) continue
    const name = pascal(first.name)
    const taken = Object.keys(shared).filter((one) => one.replace(/\d{1,4}$/, '') === name).length
    const own = taken === 0 ? name : `${name}${taken + 1}`
    shared[own] = first
    names.set(text, own)
  }
  const referenceTo = (parameter: OpenApiParameter): OpenApiSchema => {
    const name = names.get(JSON.stringify(parameter))
    return name === undefined ? parameter : { $ref: `#/components/parameters/${name}` }
  }
  return { shared, referenceTo }
}
