const scopes = new Set<AsyncDisposableStack>()

/** Does the work with a stack for what it starts: all of it is ended, last first, however the work or the process ends. */
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

async function endEarly(status: number): Promise<void> {
  for (const scope of scopes) await scope.disposeAsync()
  process.exit(status)
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => endEarly(130))
process.once('uncaughtException', (error) => {
  console.error(error)
  return endEarly(1)
})
