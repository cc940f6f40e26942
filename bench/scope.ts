const scopes = new Set<AsyncDisposableStack>()
let ending: Promise<never> | undefined

/** Runs the work with a stack of resources. All are disposed in reverse order, however the work or the process ends. */
export async function withScope<T>(work: (scope: AsyncDisposableStack) => Promise<T>): Promise<T> {
  const scope = new AsyncDisposableStack()
  scopes.add(scope)
  try {
    return await work(scope)
  } finally {
    await (ending ?? scope.disposeAsync()) // when the process is ending, all scopes are disposed first, and nothing continues meanwhile
    scopes.delete(scope)
  }
}

async function endAll(status: number): Promise<never> {
  for (const scope of scopes) await scope.disposeAsync()
  process.exit(status)
}
const endEarly = (status: number) => {
  ending ??= endAll(status)
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => endEarly(130))
process.on('uncaughtException', (error) => {
  console.error(error)
  endEarly(1)
})
