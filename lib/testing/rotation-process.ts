import { readEnv } from '#lib/config/env.ts'
import { rotateInstallationSecret } from '#lib/platform/secret-rotation.ts'

/** Rotates the secret of the installation in the environment, and dies at the point in the first argument. */
const [, , point] = process.argv
await rotateInstallationSecret(readEnv(), (reached) => {
  if (reached === point) process.kill(process.pid, 'SIGKILL')
})
