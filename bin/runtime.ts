import { existsSync } from 'node:fs'
import { resolve } from 'node:path'

// Imported first for its side effect: under an older Node, the process is replaced by the bundled Node.
const LEAST_MAJOR = 24

if (Number.parseInt(process.versions.node, 10) < LEAST_MAJOR) {
  const ours = resolve(import.meta.dirname, '../node_modules/.bin/node')
  if (!existsSync(ours) || !process.execve) {
    console.error(
      `KnowledgePulse runs on Node ${LEAST_MAJOR}, which npm start installs and uses; this is Node ${process.versions.node}.`,
    )
    process.exit(1)
  }
  process.execve(ours, [ours, ...process.argv.slice(1)], process.env)
}
