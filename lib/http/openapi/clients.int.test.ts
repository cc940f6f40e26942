// Tests the committed document with the linters and client generators that people use.
import { execFile } from 'node:child_process'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isInstalled, openApiTool, pythonExecutable } from '#lib/testing/services/installed.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '../../..')
const timeout = 300_000

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'kp-openapi-'))
  // As it is served.
  const document: unknown = JSON.parse(readFileSync(join(root, 'openapi.json'), 'utf8'))
  writeFileSync(join(folder, 'openapi.json'), JSON.stringify(document))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Standard output and standard error of a program, whatever its exit code is. */
async function outputOf(program: string, args: readonly string[]): Promise<string> {
  const env = {
    NODE_ENV: 'test' as const,
    PATH: `${dirname(program)}:${process.env.PATH}`,
    HOME: folder,
    NO_COLOR: '1',
  }
  const options = { cwd: folder, maxBuffer: 2 ** 26, env }
  const { stdout, stderr } = await run(program, [...args], options).catch((error: unknown) => {
    if (error instanceof Error && 'stdout' in error && 'stderr' in error) return error
    throw error
  })
  return `${stdout}\n${stderr}`
}

it('openapi.json is smaller than 600 kB', () => {
  expect(statSync(join(folder, 'openapi.json')).size).toBeLessThan(600_000)
})

describe.skipIf(!isInstalled('openapi'))('openapi.json', () => {
  it(
    'follows the recommended rules of Redocly',
    async () => {
      writeFileSync(join(folder, 'redocly.yaml'), 'extends: [recommended]\ntelemetry: off\n')
      const output = await outputOf(openApiTool('redocly'), ['lint', 'openapi.json', '--format=json'])
      const { totals, problems } = JSON.parse(output.slice(output.indexOf('{'), output.lastIndexOf('}') + 1))
      expect(problems).toEqual([])
      expect(totals).toMatchObject({ errors: 0, warnings: 0 })
    },
    timeout,
  )

  it(
    'follows the recommended rules of Spectral',
    async () => {
      writeFileSync(join(folder, '.spectral.yaml'), 'extends: ["spectral:oas"]\n')
      const output = await outputOf(openApiTool('spectral'), ['lint', 'openapi.json', '--fail-severity=hint'])
      expect(output).toContain('No results with a severity')
    },
    timeout,
  )

  it(
    'generates TypeScript types that the compiler accepts',
    async () => {
      const output = await outputOf(openApiTool('openapi-typescript'), ['openapi.json', '-o', 'types.d.ts'])
      expect(output).not.toMatch(/warn|error/i)
      const use = `import type { operations } from './types.d.ts'
      type Found = operations['listUnits']['responses'][200]['content']['application/json']
      export const ids = (found: Found): string[] => found.data.map(({ unit }) => unit.id ?? '')`
      writeFileSync(join(folder, 'use.ts'), use)
      const compilerOptions = {
        strict: true,
        skipLibCheck: false,
        noEmit: true,
        allowImportingTsExtensions: true,
        types: [],
      }
      writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['use.ts'] }))
      expect((await outputOf(openApiTool('tsc'), [])).trim()).toBe('')
    },
    timeout,
  )
})

describe.skipIf(!isInstalled('python'))('openapi.json', () => {
  it(
    'generates a Python client without warnings, and every module can be imported',
    async () => {
      copyFileSync(join(root, 'docs/examples/openapi-python-client.yaml'), join(folder, 'client.yaml'))
      const generate = ['generate', '--path', 'openapi.json', '--config', 'client.yaml', '--output-path', 'client']
      const output = await outputOf(pythonExecutable('openapi-python-client'), generate)
      expect(output).not.toMatch(/warning|error|omitted/i)
      const imports = `import importlib, pkgutil, sys
sys.path.insert(0, 'client')
import knowledge_pulse_client as package
names = [name for _, name, _ in pkgutil.walk_packages(package.__path__, 'knowledge_pulse_client.')]
for name in names: importlib.import_module(name)
print(sum('.api.' in name and name.count('.') == 3 for name in names))`
      const { paths } = JSON.parse(readFileSync(join(folder, 'openapi.json'), 'utf8'))
      const operations = Object.values(paths).flatMap((methods) => Object.keys(methods ?? {})).length
      expect((await outputOf(pythonExecutable(), ['-c', imports])).trim()).toBe(String(operations))
    },
    timeout,
  )
})
