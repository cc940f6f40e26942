import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { dataFolderMark } from './data-folder.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kp-data-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

it('dataFolderMark returns the same mark for a folder each time, and another for every other folder and copy', async () => {
  const own = join(folder, 'own')
  const marks = await Promise.all([dataFolderMark(own), dataFolderMark(own)])
  expect(marks[0]).toMatch(/^[\w-]{22}$/)
  expect([...marks, await dataFolderMark(own)]).toEqual([marks[0], marks[0], marks[0]])
  cpSync(own, join(folder, 'copy'), { recursive: true })
  expect(await dataFolderMark(join(folder, 'copy'))).not.toBe(marks[0])
  expect(await dataFolderMark(join(folder, 'other'))).not.toBe(marks[0])
})
