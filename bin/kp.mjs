#!/usr/bin/env node
// The installed `kp`. It starts kp.ts in the Node of this checkout, so it must run in older versions: JavaScript with imports of node: only.
import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
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

const [option, ...others] = process.argv.slice(2)
if ((option === '--version' || option === '-V') && others.length === 0) {
  // Without a second process.
  console.log(JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version)
  process.exit(0)
}
if (runtime === undefined) {
  console.error(
    `kp runs on Node 24; this is ${process.versions.node}. Run npm start in the checkout once: it installs what kp needs.`,
  )
  process.exit(2)
}
// As in package.json's script: a small semi-space, so that large files pass through in little memory.
const child = spawn(runtime, ['--max-semi-space-size=8', program, ...process.argv.slice(2)], { stdio: 'inherit' })
// The terminal sends SIGINT and SIGHUP to the child as well. The child decides what to do.
for (const signal of ['SIGINT', 'SIGHUP']) process.on(signal, () => {})
process.on('SIGTERM', () => child.kill('SIGTERM'))
child.once('error', (error) => {
  console.error(`kp could not be started: ${error.message}`)
  process.exit(1)
})
child.once('exit', (status, signal) => process.exit(status ?? (signal === 'SIGINT' ? 130 : 1)))
