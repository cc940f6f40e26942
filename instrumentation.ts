/** Called by Next.js before the first request. Under bin/server.ts the application already exists, and the API server tracks sockets. */
export async function register(): Promise<void> {
  if (process.env.NEXT_RUNTIME === 'nodejs' && !globalThis.knowledgePulse) {
    const { app } = await import('#lib/app-instance.ts')
    app.followClientSockets()
  }
}
