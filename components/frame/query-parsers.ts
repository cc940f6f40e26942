/** The search parameters of a page, as Next passes them. */
export type SearchParams = Record<string, string | string[] | undefined>

/** Reads one parameter of the address; null for an absent or unknown value. */
export interface QueryParser<T extends string, Default extends T | null = null> {
  parse(text: string): T | null
  /** The value of an absent parameter. The address does not contain it. */
  fallback: Default
}
interface PlainParser<T extends string> extends QueryParser<T> {
  withDefault<const D extends T>(fallback: D): QueryParser<T, T>
}
const parser = <T extends string>(parse: (text: string) => T | null): PlainParser<T> => ({
  parse,
  fallback: null,
  withDefault: (fallback) => ({ parse, fallback }),
})

export const parseAsString = parser((text) => text)
export const parseAsStringLiteral = <const T extends string>(values: readonly T[]): PlainParser<T> =>
  parser((text) => values.find((value) => value === text) ?? null)

export type QueryParsers = Record<string, QueryParser<string, string | null>>
/** The values that the parsers read. */
export type QueryValues<P extends QueryParsers> = {
  [K in keyof P]: P[K] extends QueryParser<infer T, infer D> ? T | D : never
}

/** New values of some parameters; null for no parameter at all. */
export type QueryChange<P extends QueryParsers> = Partial<Record<keyof P, string | null>> | null

/** The values in a query. */
export const readQuery = <P extends QueryParsers>(parsers: P, query: URLSearchParams): QueryValues<P> =>
  Object.fromEntries(
    Object.entries(parsers).map(([name, { parse, fallback }]) => {
      const text = query.get(name)
      return [name, (text === null ? null : parse(text)) ?? fallback]
    }),
  ) as QueryValues<P>

/** Sets parameters of a query. A default value and null remove the parameter; null for all removes all that have a parser. */
export function writeQuery<P extends QueryParsers>(
  parsers: P,
  query: URLSearchParams,
  values: QueryChange<P>,
): URLSearchParams {
  const written = new URLSearchParams(query)
  for (const [name, { fallback }] of Object.entries(parsers)) {
    const value = values === null ? null : values[name]
    if (value === undefined) continue
    if (value === null || value === fallback) written.delete(name)
    else written.set(name, value)
  }
  return written
}

/** The query as text, without escapes that a query does not need. */
export const queryText = (query: URLSearchParams): string =>
  query.toString().replace(/%(?:21|24|28|29|2A|2C|2F|3A|3B|3F|40|7E)/g, (code) => decodeURIComponent(code))

/** A function that reads the parameters of a page. Of a repeated parameter it reads the first. */
export const createLoader =
  <P extends QueryParsers>(parsers: P) =>
  async (given: Promise<SearchParams> | URLSearchParams): Promise<QueryValues<P>> => {
    const params = await given
    if (params instanceof URLSearchParams) return readQuery(parsers, params)
    const pairs = Object.entries(params).flatMap(([name, value]) => {
      const [first] = [value].flat()
      return first === undefined ? [] : [[name, first]]
    })
    return readQuery(parsers, new URLSearchParams(pairs))
  }

/** A function that returns a path with these values in its query. */
export const createSerializer =
  <P extends QueryParsers>(parsers: P) =>
  (path: string, values: Partial<Record<keyof P, string | null>>): string => {
    const text = queryText(writeQuery(parsers, new URLSearchParams(), values))
    return text === '' ? path : `${path}?${text}`
  }
