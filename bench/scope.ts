const scopes = new Set<AsyncDisposableStack>()
let ending: Promise<never> | undefined

/** Does the work with a stack for what it starts: all of it is ended, last first, however the work or the process ends. */
export async function withScope<T>(work: (scope: AsyncDisposableStack) => Promise<T>): Promise<T> {
  const scope = new AsyncDisposableStack()
  scopes.add(scope)
  try {
    return await work(scope)
  } finally {
    await (ending ?? scope.disposeAsync()) // whoever ends the process ends the scopes first, and nothing goes on meanwhile
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
