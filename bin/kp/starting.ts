import { spawnSync } from 'node:child_process'
import type { Command } from 'commander'
import { compileCache } from '../compile-cache.ts'
import { Failure } from './failure.ts'
import { checkout } from './installation.ts'

/** Runs `npm start` from any folder. This process becomes the supervisor, so that it receives signals and returns the exit code. */
function start(): void {
  process.chdir(checkout)
  const setup = spawnSync(process.execPath, ['bin/setup.mjs', '--production'], { stdio: 'inherit' })
  if (setup.status !== 0)
    throw new Failure('not_installed', 'The required packages could not be installed. See the error above.')
  if (!process.execve)
    throw new Failure('not_here', 'kp start needs Linux or macOS. Nothing was started.', { advice: 'Run npm start.' })
  process.execve(process.execPath, [process.execPath, 'bin/start.ts'], { ...process.env, ...compileCache })
}

/** Starts the server of this `kp`'s checkout. */
export function startingCommands(program: Command): void {
  program
    .command('start')
    .summary('start the registry and its console')
    .description(
      'Starts the installation of this checkout, like npm start: installs packages, builds changes, starts and migrates the database, and serves until Ctrl-C. Settings are environment variables (docs/configuration.md).\n\nExample:\n  PORT=3001 kp start',
    )
    .action(start)
}
