/** Calls `make` on first use and memoizes its result. */
export function memoize<T>(make: () => T): () => T {
  let made: { value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}
