const PATIENCE = 10_000

/**
 * Tells the supervisor that this process is ready, and from then on ends it when asked: `stop` lets running work finish.
 * Ctrl-C reaches the whole foreground group, so under a supervisor only its SIGTERM counts; a supervisor that is lost, however it
 * died, ends us too. Without one (started by hand) Ctrl-C counts.
 */
export function supervised(stop: () => Promise<void>) {
  const isSupervised = process.send !== undefined
  let isEnding = false
  const end = () => {
    if (isEnding) return
    isEnding = true
    setTimeout(() => process.exit(1), PATIENCE).unref() // with the supervisor gone nobody else would insist
    stop().then(
      () => process.exit(0),
      (error: unknown) => {
        console.error(error)
        process.exit(1)
      },
    )
  }
  process.on('SIGINT', () => {
    if (!isSupervised) end()
  })
  process.on('SIGTERM', end).on('disconnect', end)
  if (isSupervised && !process.connected)
    end() // lost while we were starting
  else process.send?.('ready')
}
