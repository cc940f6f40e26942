const PATIENCE = 10_000

/**
 * Tells the supervisor that this process is ready, and ends it on request: `stop` finishes running work. Ctrl-C
 * reaches the whole foreground group, so under a supervisor only SIGTERM counts; losing the supervisor also ends this
 * process. Without a supervisor, Ctrl-C counts.
 * `drain`: milliseconds that `stop` takes besides its work.
 */
export function supervised(stop: () => Promise<void>, drain = 0) {
  const isSupervised = process.send !== undefined
  let isEnding = false
  const end = () => {
    if (isEnding) return
    isEnding = true
    setTimeout(() => process.exit(1), PATIENCE + drain).unref() // without the supervisor, no other process would end this one
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
    end() // the supervisor was lost during the start
  else process.send?.('ready')
}
