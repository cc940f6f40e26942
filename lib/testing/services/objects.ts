import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { freeTestPort } from '../ports.ts'
import { files } from './installed.ts'
import { newFolder, startProcess } from './process.ts'

export interface TestObjects {
  /** Without a bucket: `http://127.0.0.1:port`. */
  endpoint: string
  port: number
  folder: string
  /** Kills it immediately. Safe to repeat. */
  stop(): Promise<void>
}
export const s3Credentials = { key: 'testkey', secret: 'testsecret123' }

/** A real S3 server for this run, which supports versioning. */
export async function startS3({
  port: wanted,
  folder: given,
}: {
  port?: number
  folder?: string
} = {}): Promise<TestObjects> {
  const port = wanted ?? (await freeTestPort())
  const folder = given ?? newFolder('s3')
  const [buckets, versions] = [join(folder, 'buckets'), join(folder, 'versions')]
  for (const path of [buckets, versions]) mkdirSync(path, { recursive: true })
  const server = await startProcess(
    'versitygw',
    [files.s3, '--port', `127.0.0.1:${port}`, '--quiet', 'posix', '--versioning-dir', versions, buckets],
    {
      port,
      folder,
      keeps: given !== undefined,
      env: { ROOT_ACCESS_KEY: s3Credentials.key, ROOT_SECRET_KEY: s3Credentials.secret },
    },
  )
  return { endpoint: `http://127.0.0.1:${port}`, port, folder, stop: server.stop }
}

/** An in-memory Google Cloud Storage server for this run, which supports versioning. */
export async function startGcs({ port: wanted }: { port?: number } = {}): Promise<TestObjects> {
  const port = wanted ?? (await freeTestPort())
  const address = `127.0.0.1:${port}`
  const folder = newFolder('gcs')
  const server = await startProcess(
    'fake-gcs-server',
    [
      files.gcs,
      '-scheme',
      'http',
      '-host',
      '127.0.0.1',
      '-port',
      String(port),
      '-backend',
      'memory',
      '-public-host',
      address,
      '-external-url',
      `http://${address}`,
      '-log-level',
      'error',
    ],
    { port, folder, keeps: false },
  )
  return { endpoint: `http://${address}`, port, folder, stop: server.stop }
}
