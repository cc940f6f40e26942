import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from '@playwright/test'
import { freeTestPort } from '#lib/testing/ports.ts'
import { startTemporary } from '../lib/stores/postgres/temporary.ts'

const root = join(import.meta.dirname, '..')
const mebibyte = 1024 * 1024

/** Every file of the folder with its size and time of change. */
const contentOf = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => ({ name, ...statSync(join(folder, name)) }))
    .filter((file) => (file.mode & 0o170000) === 0o100000)
    .map(({ name, size, mtimeMs }) => ({ name, size, mtimeMs }))

test('the files of the container image start with an external database and stay unchanged', async () => {
  // Tracing the imports of all packages takes more than a minute of processor time, which a busy machine has in five.
  test.setTimeout(900_000)
  const home = mkdtempSync(join(tmpdir(), 'kp-image-'))
  chmodSync(home, 0o755)
  const app = join(home, 'app')
  const database = await startTemporary()
  let child: ChildProcess | undefined
  try {
    execFileSync(process.execPath, [join(root, 'bin/image.ts'), app], { cwd: root, stdio: 'pipe' })
    const before = contentOf(app)
    // The base image adds 200 MiB; the whole must stay under 400.
    expect(before.reduce((total, { size }) => total + size, 0) / mebibyte).toBeLessThan(200)
    expect(before.filter(({ name }) => /\.test\.tsx?$|\.env$|^var\//.test(name))).toEqual([])
    const port = await freeTestPort()
    const started = spawn(process.execPath, ['bin/start.ts'], {
      cwd: app,
      env: {
        PATH: process.env.PATH,
        NODE_ENV: 'production',
        DATABASE_URL: database.ownerUrl('postgres'),
        HOST: '127.0.0.1',
        PORT: String(port),
        HOME: home,
        KP_DATA_DIR: join(home, 'data'),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    child = started
    let said = ''
    for (const stream of [started.stdout, started.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        said += text
      })
    await expect.poll(() => said, { timeout: 300_000 }).toContain('KnowledgePulse is ready')
    for (const path of ['/', '/verify', '/openapi.json', '/health']) {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`)
      expect([path, answer.status]).toEqual([path, 200])
    }
    // Next may add entries to its cache where the folder is writable.
    const names = new Set(before.map(({ name }) => name))
    expect(contentOf(app).filter(({ name }) => names.has(name))).toEqual(before)
  } finally {
    if (child && child.exitCode === null) {
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      await ended
    }
    await database.stop()
    rmSync(home, { recursive: true, force: true })
  }
})
