const scopes = new Set<AsyncDisposableStack>()

/** Holds what a measurement starts: all of it is ended, last first, when the block ends, however it does, and on Ctrl-C. */
export function openScope(): AsyncDisposableStack {
  const scope = new AsyncDisposableStack()
  scopes.add(scope)
  scope.defer(() => {
    scopes.delete(scope)
  })
  return scope
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.once(signal, async () => {
    for (const scope of scopes) await scope.disposeAsync()
    process.exit(130)
  })
