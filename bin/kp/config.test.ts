import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readClientEnv } from '#lib/env.ts'
import { type Config, configFile, configFolder, readConfig, removeConfig, writeConfig } from './config.ts'

const config: Config = { url: 'http://localhost:3000', token: 'kp_x', agent_id: 'me' }
let home = ''
let folder = ''
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'kp-config-'))
  folder = configFolder(readClientEnv({ XDG_CONFIG_HOME: home }), { homeDirectory: '/nonexistent' })
})
afterEach(() => rmSync(home, { recursive: true, force: true }))
const rights = (path: string) => (statSync(path).mode & 0o777).toString(8)

test('what is written is read again, and its owner alone may read it, whatever the umask', () => {
  const before = process.umask(0)
  try {
    writeConfig(folder, config)
  } finally {
    process.umask(before)
  }
  expect(readConfig(folder)).toEqual(config)
  expect(rights(configFile(folder))).toBe('600')
  expect(rights(folder)).toBe('700')
})

test('a file that others could read is replaced by one that they cannot', () => {
  mkdirSync(folder)
  writeFileSync(configFile(folder), '{}', { mode: 0o644 })
  chmodSync(configFile(folder), 0o644)
  writeConfig(folder, config)
  expect(rights(configFile(folder))).toBe('600')
})

test('a write that fails leaves what was there, and nothing beside it', () => {
  writeConfig(folder, config)
  const before = readFileSync(configFile(folder), 'utf8')
  rmSync(configFile(folder))
  mkdirSync(join(configFile(folder), 'in the way'), { recursive: true })
  expect(() => writeConfig(folder, config)).toThrow()
  expect(readdirSync(folder)).toEqual(['config.json'])
  rmSync(configFile(folder), { recursive: true })
  writeFileSync(configFile(folder), before)
  expect(readConfig(folder)).toEqual(config)
})

test('nobody is signed in where there is no file; another file is told apart from none', () => {
  expect(readConfig(folder)).toBeUndefined()
  expect(removeConfig(folder)).toBe(false)
  writeConfig(folder, config)
  expect(removeConfig(folder)).toBe(true)
  expect(readConfig(folder)).toBeUndefined()
  writeFileSync(configFile(folder), '{"url":"ftp://x"}')
  expect(() => readConfig(folder)).toThrow(/not a configuration/)
})

test('configFolder returns a folder of the home directory when XDG_CONFIG_HOME is relative', () => {
  expect(configFolder(readClientEnv({ XDG_CONFIG_HOME: 'here' }), { homeDirectory: '/home/me' })).toBe(
    '/home/me/.config/knowledgepulse',
  )
})
