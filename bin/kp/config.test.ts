import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readClientEnv } from '#lib/config/env.ts'
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

test('readConfig returns the written configuration, readable only by its owner under any umask', () => {
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

test('writeConfig makes a publicly readable file private', () => {
  mkdirSync(folder)
  writeFileSync(configFile(folder), '{}', { mode: 0o644 })
  chmodSync(configFile(folder), 0o644)
  writeConfig(folder, config)
  expect(rights(configFile(folder))).toBe('600')
})

test('writeConfig keeps the old file and leaves no other when it fails', () => {
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

test('readConfig returns undefined without a file, and rejects an invalid one', () => {
  expect(readConfig(folder)).toBeUndefined()
  expect(removeConfig(folder)).toBe(false)
  writeConfig(folder, config)
  expect(removeConfig(folder)).toBe(true)
  expect(readConfig(folder)).toBeUndefined()
  writeFileSync(configFile(folder), '{"url":"ftp://x"}')
  expect(() => readConfig(folder)).toThrow(/not a valid kp configuration/)
})

test('configFolder returns a folder of the home directory when XDG_CONFIG_HOME is relative', () => {
  expect(configFolder(readClientEnv({ XDG_CONFIG_HOME: 'here' }), { homeDirectory: '/home/me' })).toBe(
    '/home/me/.config/knowledgepulse',
  )
})
