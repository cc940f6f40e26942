// Installs what package-lock.json names, once per lock and platform.
// It runs before anything is installed, under whatever Node >= 20.9 the person has: plain JavaScript, node: imports alone.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 20 || (major === 20 && minor < 9)) {
  console.error(
    `KnowledgePulse needs Node 20.9 or newer to install; this is ${process.versions.node}. Install a newer Node and run the command again.`,
  )
  process.exit(1)
}

const stamp = 'node_modules/.knowledgepulse-installed'
const wanted = createHash('sha256')
  .update(readFileSync('package-lock.json'))
  .update(`${process.platform}-${process.arch}`)
  .digest('hex')

if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== wanted) {
  console.log('Installing dependencies (once; a minute or so) …')
  const started = performance.now()
  const env = { ...process.env }
  delete env.NODE_OPTIONS // flags meant for the caller's Node may not exist in npm's
  const npm = process.env.npm_execpath
  const [command, args] = npm?.endsWith('.js') ? [process.execPath, [npm]] : ['npm', []]
  // --include=dev: with NODE_ENV=production the runtime itself (the package "node") would be left out.
  const install = spawnSync(
    command,
    [...args, 'ci', '--include=dev', '--include=optional', '--no-audit', '--no-fund', '--loglevel=error'],
    { stdio: 'inherit', env, shell: command === 'npm' && process.platform === 'win32' },
  )
  if (install.status !== 0) {
    console.error('The installation did not finish; what npm said stands above. Nothing was started.')
    process.exit(install.status ?? 1)
  }
  writeFileSync(stamp, wanted)
  console.log(`Installed in ${((performance.now() - started) / 1000).toFixed(1)} s.`)
}
