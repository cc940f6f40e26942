/** Next calls it before the first request. With bin/server.ts the application exists already, and the API server knows the sockets. */
export async function register(): Promise<void> {
  if (process.env.NEXT_RUNTIME === 'nodejs' && !globalThis.knowledgePulse) {
    const { app } = await import('#lib/app-instance.ts')
    app.followClientSockets()
  }
}
