// npm leaves optional packages of other platforms out of the lock when the registry at hand does not have them, and `npm ci` then
// refuses the lock. This writes a version-only entry for each. Run it after every change of dependencies: npm run lock
import { readFileSync, writeFileSync } from 'node:fs'

const systems = {
  darwin: 'darwin',
  linux: 'linux',
  win32: 'win32',
  windows: 'win32',
  freebsd: 'freebsd',
  android: 'android',
  openharmony: 'openharmony',
  netbsd: 'netbsd',
  openbsd: 'openbsd',
  sunos: 'sunos',
  aix: 'aix',
}
const processors = ['arm64', 'x64', 'ia32', 'arm', 'ppc64', 'riscv64', 's390x', 'wasm32', 'loong64', 'mips64el']

const lock = JSON.parse(readFileSync('package-lock.json', 'utf8'))

/** Node's own way up: the nearest node_modules that holds the name. */
function isLocked(from, name) {
  for (let at = from; ; at = at.includes('/node_modules/') ? at.slice(0, at.lastIndexOf('/node_modules/')) : '') {
    if (lock.packages[`${at ? `${at}/` : ''}node_modules/${name}`]) return true
    if (at === '') return false
  }
}

function entryOf(name, range, parent) {
  const words = name.split('/').at(-1).split(/[-.]/)
  const os = words.map((word) => systems[word]).find(Boolean)
  const cpu = words
    .map((word) => processors.find((one) => word === one || (one === 'arm' && word === 'arm')))
    .find(Boolean)
  const libc = words.some((word) => word.startsWith('musl'))
    ? 'musl'
    : os === 'linux' && words.some((word) => word.startsWith('gnu'))
      ? 'glibc'
      : undefined
  return {
    version: range.replace(/^[\^~]/, ''),
    ...(cpu && { cpu: [cpu] }),
    ...(parent.dev && { dev: true }),
    ...(libc && { libc: [libc] }),
    optional: true,
    ...(os && { os: [os] }),
  }
}

let added = 0
for (const [path, parent] of Object.entries(lock.packages))
  for (const [name, range] of Object.entries(parent.optionalDependencies ?? {})) {
    if (isLocked(path, name)) continue
    lock.packages[`node_modules/${name}`] = entryOf(name, range, parent)
    added++
  }
lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)))
writeFileSync('package-lock.json', `${JSON.stringify(lock, null, 2)}\n`)
console.log(`${added} entries added.`)
