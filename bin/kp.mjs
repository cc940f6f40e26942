#!/usr/bin/env node
// The installed `kp`. Whatever Node it is called with, it goes on in the one that this checkout brings: plain JavaScript, node: imports alone.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const ours = fileURLToPath(
  new URL(`../node_modules/.bin/node${process.platform === 'win32' ? '.cmd' : ''}`, import.meta.url),
)
const program = fileURLToPath(new URL('./kp.ts', import.meta.url))
const runtime = existsSync(ours)
  ? ours
  : Number.parseInt(process.versions.node, 10) >= 24
    ? process.execPath
    : undefined

if (runtime === undefined) {
  console.error(
    `kp runs on Node 24; this is ${process.versions.node}. Run npm start in the checkout once: it installs what kp needs.`,
  )
  process.exit(2)
}
// As in package.json's script: what is young is collected sooner, so that large files pass through in little memory.
const child = spawn(runtime, ['--max-semi-space-size=8', program, ...process.argv.slice(2)], { stdio: 'inherit' })
// Ctrl-C and the terminal's end reach the child by themselves, and twice would be once too often; it decides what to do.
for (const signal of ['SIGINT', 'SIGHUP']) process.on(signal, () => {})
process.on('SIGTERM', () => child.kill('SIGTERM'))
child.once('error', (error) => {
  console.error(`kp could not be started: ${error.message}`)
  process.exit(1)
})
child.once('exit', (status, signal) => process.exit(status ?? (signal === 'SIGINT' ? 130 : 1)))
