import './runtime.ts'
import { enableCompileCache } from 'node:module'
import { homedir } from 'node:os'
import { compileCache } from './compile-cache.ts'

// Compilation would take half the time of a command.
enableCompileCache(compileCache.NODE_COMPILE_CACHE)
const { main } = await import('./kp/main.ts')

// A reader such as `head` closes the pipe when it has read enough.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0)
  throw error
})

/** npm runs scripts in the checkout. INIT_CWD is the folder in which the user typed the command. */
const { INIT_CWD: typedIn, npm_lifecycle_event: npmScript } = process.env
const isElsewhere = npmScript === 'kp' && typedIn !== undefined && typedIn !== '' && typedIn !== process.cwd()

const cleanUps = new Set<() => void>()
function end(signal: NodeJS.Signals): void {
  for (const cleanUp of cleanUps) cleanUp()
  process.exit(signal === 'SIGINT' ? 130 : 143)
}

await main({
  args: process.argv.slice(2),
  env: process.env,
  // Getters: Node opens a standard stream on first access, and an account without a home directory throws.
  get stdin() {
    return process.stdin
  },
  get stdout() {
    return process.stdout
  },
  get stderr() {
    return process.stderr
  },
  get homeDirectory() {
    return homedir()
  },
  workingDirectory: isElsewhere ? typedIn : undefined,
  setExitCode(code) {
    process.exitCode = code
  },
  onTermination(cleanUp) {
    // Without a listener, a signal ends the process in the default way.
    if (cleanUps.size === 0) process.once('SIGINT', end).once('SIGTERM', end)
    cleanUps.add(cleanUp)
    return () => {
      cleanUps.delete(cleanUp)
      if (cleanUps.size === 0) process.off('SIGINT', end).off('SIGTERM', end)
    }
  },
})
// A store that stopped answering may leave a connection open, which would keep the process alive.
await Promise.all([process.stdout, process.stderr].map((stream) => new Promise((written) => stream.write('', written))))
process.exit()
