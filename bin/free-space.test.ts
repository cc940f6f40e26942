import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { tooLittleSpace } from './free-space.ts'

test('tooLittleSpace names the folder and its free space when PostgreSQL could not write its log', () => {
  expect(tooLittleSpace('/srv/kp', 20 * 1024 * 1024)).toBe(
    'The disk is full: /srv/kp has 20 MiB left, and the database needs 64 MiB to start. Free some space and start again. No stored data was lost.',
  )
  expect(tooLittleSpace('/srv/kp', 65 * 1024 * 1024)).toBeUndefined()
})

test('tooLittleSpace measures the disk of a folder that does not exist yet', () =>
  expect(tooLittleSpace(join(tmpdir(), 'never', 'made'))).toBeUndefined())
