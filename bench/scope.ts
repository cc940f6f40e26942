const scopes = new Set<AsyncDisposableStack>()

/** Does the work with a stack for what it starts: all of it is ended, last first, however the work ends, and on Ctrl-C. */
export async function withScope<T>(work: (scope: AsyncDisposableStack) => Promise<T>): Promise<T> {
  const scope = new AsyncDisposableStack()
  scopes.add(scope)
  try {
    return await work(scope)
  } finally {
    await scope.disposeAsync()
    scopes.delete(scope)
  }
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.once(signal, async () => {
    for (const scope of scopes) await scope.disposeAsync()
    process.exit(130)
  })
