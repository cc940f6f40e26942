import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { describeError, exitCodes } from './failure.ts'

const folder = mkdtempSync(join(tmpdir(), 'kp-failure-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
writeFileSync(join(folder, 'file'), '')
mkdirSync(join(folder, 'folder'))

const messageOf = (act: () => unknown): string => {
  try {
    act()
  } catch (error) {
    const { message, exitCode } = describeError(error, 'http://localhost:3000', (words) => `kp ${words}`)
    expect(exitCode).toBe(exitCodes.failed)
    return message.replaceAll(folder, '')
  }
  throw new Error('nothing failed')
}
const refused = (code: string) =>
  Object.assign(new Error(`${code}: some text, open 'x.json'`), { code, path: 'x.json' })

it.each([
  ['a missing file', () => readFileSync(join(folder, 'missing')), '/missing: no such file or folder.'],
  ['a file as a folder', () => readdirSync(join(folder, 'file', 'x')), '/file/x: a part of this path is not a folder.'],
  ['a folder as a file', () => readFileSync(join(folder, 'folder')), 'This is a folder, not a file.'],
])('describeError() names the path and the reason of %s', (_, act, message) => expect(messageOf(act)).toBe(message))

it.each([
  ['EACCES', 'x.json: no permission.'],
  ['EROFS', 'x.json: this file system is read-only.'],
  ['ENOSPC', 'x.json: no space is left on the disk.'],
  ['EXDEV', "EXDEV: some text, open 'x.json'."],
])('describeError() describes %s', (code, message) =>
  expect(
    messageOf(() => {
      throw refused(code)
    }),
  ).toBe(message),
)
