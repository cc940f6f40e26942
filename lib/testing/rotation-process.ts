import { readEnv } from '#lib/env.ts'
import { rotateInstallationSecret } from '#lib/stores/postgres/secret-rotation.ts'

/** Rotates the secret of the installation that the environment names, and dies at the point that the first argument names. */
const [, , point] = process.argv
await rotateInstallationSecret(readEnv(), (reached) => {
  if (reached === point) process.kill(process.pid, 'SIGKILL')
})
