import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kp-setup-'))
  writeFileSync(join(folder, 'package-lock.json'), '{}')
  // In place of npm: it writes down how it was called, and installs the one package that has a script.
  writeFileSync(
    join(folder, 'npm.js'),
    `const { appendFileSync, mkdirSync } = require('node:fs')
     appendFileSync('calls', process.argv.slice(2).join(' ') + '\\n')
     mkdirSync('node_modules/node', { recursive: true })`,
  )
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** Runs the setup and returns how it called npm. */
function setup(...args: string[]): string[] {
  rmSync(join(folder, 'calls'), { force: true })
  const { status, stderr } = spawnSync(process.execPath, [join(import.meta.dirname, 'setup.mjs'), ...args], {
    cwd: folder,
    env: { PATH: process.env.PATH, NODE_ENV: 'production', npm_execpath: join(folder, 'npm.js') },
    encoding: 'utf8',
  })
  expect([status, stderr]).toEqual([0, ''])
  const calls = existsSync(join(folder, 'calls')) ? readFileSync(join(folder, 'calls'), 'utf8') : ''
  return calls.replaceAll(' --no-audit --no-fund --loglevel=error', '').split('\n').filter(Boolean)
}
const rebuild = 'rebuild node --ignore-scripts=false'

describe('the setup', () => {
  it('installs no test tools with --production, and runs the scripts of two packages only', () => {
    expect(setup('--production')).toEqual(['ci --omit=dev --include=optional --ignore-scripts', rebuild])
    expect(setup('--production')).toEqual([])
  })

  it('adds the test tools without deleting what a running server uses', () => {
    setup('--production')
    expect(setup()).toEqual(['install --no-save --include=dev --include=optional --ignore-scripts'])
    expect([setup(), setup('--production')]).toEqual([[], []])
  })

  it('installs everything without --production, also where NODE_ENV is production', () => {
    expect(setup()).toEqual(['ci --include=dev --include=optional --ignore-scripts', rebuild])
    expect(setup('--production')).toEqual([])
  })

  it.each([
    [[], '--include=dev'],
    [['--production'], '--omit=dev'],
  ])('installs a new lock with the same packages as before: %j', (args, which) => {
    setup(...args)
    writeFileSync(join(folder, 'package-lock.json'), '{"packages": {}}')
    expect(setup('--production')[0]).toBe(`ci ${which} --include=optional --ignore-scripts`)
  })

  it('installs again where an installation was interrupted', () => {
    mkdirSync(join(folder, 'node_modules'))
    expect(setup('--production')).toHaveLength(2)
  })
})
