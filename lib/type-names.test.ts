import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '..')

test('every exported type name is declared only once', () => {
  const { stdout } = spawnSync('git', ['ls-files', 'app', 'bin', 'components', 'lib'], { cwd: root, encoding: 'utf8' })
  const files = stdout.split('\n').filter((file) => /\.tsx?$/.test(file))
  expect(files.length).toBeGreaterThan(1_000)
  const declaredIn = new Map<string, string[]>()
  for (const file of files)
    for (const [, name = ''] of readFileSync(join(root, file), 'utf8').matchAll(
      /^export (?:interface|type|class|enum) ([A-Z]\w*)/gm,
    ))
      declaredIn.set(name, [...(declaredIn.get(name) ?? []), file])
  expect([...declaredIn].filter(([, places]) => places.length > 1)).toEqual([])
})
