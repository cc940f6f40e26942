import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { openApiTool, pythonExecutable } from './services/installed.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '../..')

/**
 * Builds and packs the TypeScript client in the folder as it is published, and installs it for `app/` there. Programs in `app/` can also
 * import the packages of this repository.
 */
export async function builtTypeScript(folder: string): Promise<{ app: string; load(file: string): Promise<unknown> }> {
  const source = join(folder, 'repository/clients/typescript')
  cpSync(join(root, 'clients/typescript'), source, { recursive: true })
  cpSync(join(root, 'openapi.json'), join(folder, 'repository/openapi.json'))
  const env = {
    NODE_ENV: 'test' as const,
    PATH: `${dirname(openApiTool('tsc'))}:${process.env.PATH}`,
    HOME: folder,
    npm_config_offline: 'true',
  }
  const options = { cwd: source, env, maxBuffer: 2 ** 26 }
  mkdirSync(join(source, 'src/generated'), { recursive: true })
  await run(openApiTool('openapi-typescript'), ['../../openapi.json', '-o', 'src/generated/openapi.ts'], options)
  await run(openApiTool('tsc'), ['-p', '.'], options).catch((error: unknown) => {
    throw new Error(error instanceof Error && 'stdout' in error ? String(error.stdout) : 'tsc failed')
  })
  await run('npm', ['pack', '--ignore-scripts'], options)
  const [tarball] = readdirSync(source).filter((file) => file.endsWith('.tgz'))
  const app = join(folder, 'app')
  const installed = join(app, 'node_modules/@knowledgepulse/client')
  mkdirSync(installed, { recursive: true })
  await run('tar', ['xzf', join(source, tarball ?? ''), '-C', installed, '--strip-components', '1'])
  for (const scope of ['@langchain', '@aws-sdk'])
    symlinkSync(join(root, 'node_modules', scope), join(app, 'node_modules', scope))
  writeFileSync(join(app, 'package.json'), '{"type":"module"}')
  return { app, load: (file) => import(join(installed, 'dist', file)) }
}

/** Builds the wheel of the Python client in the folder. Returns the folder with its modules. */
export async function builtPython(folder: string): Promise<string> {
  const source = join(folder, 'repository/clients/python')
  cpSync(join(root, 'clients/python'), source, { recursive: true })
  // An earlier build may have left these files in the checkout.
  for (const file of ['types.py', '_calls.pyi']) rmSync(join(source, 'src/knowledgepulse', file), { force: true })
  const options = { cwd: source, env: { NODE_ENV: 'test' as const, HOME: folder } }
  await run(pythonExecutable('hatchling'), ['build', '--target', 'wheel'], options)
  const [wheel] = readdirSync(join(source, 'dist')).filter((file) => file.endsWith('.whl'))
  const installed = join(folder, 'wheel')
  await run(pythonExecutable(), ['-m', 'zipfile', '-e', join(source, 'dist', wheel ?? ''), installed])
  return installed
}
