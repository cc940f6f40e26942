import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Env } from '#lib/config/env.ts'
import { buildChanged } from '../bin/build.ts'
import { materialIn } from '../bin/demo/material.ts'

export interface DemoInstallation {
  /** Contains the database URL. */
  env: Env
  /** The database URL of the owner of its tables. */
  ownerUrl: string
  origin: string
  /** The password of all demo people. */
  password: string
  /** The output of the first start. */
  told: string
  /** Call after the servers have stopped. */
  remove(): Promise<void>
}
export interface DemoOptions {
  port: number
  /** The folder of sample units. By default the built-in set. */
  data?: string
}

/**
 * The production build with a temporary database, the first admin and the demo organization. Removed by `remove`.
 * Replaces the product's settings in this process.
 */
export async function makeDemoInstallation({ port, data }: DemoOptions): Promise<DemoInstallation> {
  const dataDir = mkdtempSync(join(tmpdir(), 'kp-e2e-'))
  const origin = `http://localhost:${port}`
  const secret = 'only for the browser journeys, of no worth elsewhere'
  for (const name of Object.keys(process.env)) if (/^(KP_(?!BROWSER)|DATABASE_)/.test(name)) delete process.env[name]
  Object.assign(process.env, {
    NODE_ENV: 'production',
    NEXT_TELEMETRY_DISABLED: '1',
    NEXTAUTH_URL: origin,
    HOST: '127.0.0.1',
    PORT: String(port),
    KP_URL: origin,
    KP_DATA_DIR: dataDir,
    XDG_STATE_HOME: dataDir,
    XDG_DATA_HOME: dataDir,
    KP_SECRET: secret,
    KP_LIMITS: 'memory',
  })
  // Imported late, because the application reads its settings when it loads.
  const [{ readEnv }, { firstRun }, { prepareDatabase }, { startTemporary }, { buildDemo: tellStory }] =
    await Promise.all([
      import('#lib/config/env.ts'),
      import('#lib/operator/first-run.ts'),
      import('#lib/stores/postgres/preparation.ts'),
      import('#lib/stores/postgres/temporary.ts'),
      import('../bin/demo/story.ts'),
    ])
  const stopping = new AbortController()
  const built = buildChanged({ ...process.env }, stopping.signal, () => console.log('Building …'))
  built.catch(() => {}) // a rejection is handled where it is awaited below
  const cluster = await startTemporary()
  const remove = async () => {
    stopping.abort()
    await cluster.stop()
    rmSync(dataDir, { recursive: true, force: true })
  }
  try {
    const ownerUrl = cluster.ownerUrl('kp_e2e')
    const { appUrl } = await prepareDatabase({ ownerUrl, secret, mayCreateDatabase: true })
    const env = { ...readEnv(), DATABASE_URL: appUrl }
    const told = (await firstRun({ databaseUrl: appUrl, isTerminal: true })).join('\n')
    const { password } = await tellStory({ env, material: materialIn(data ?? dataDir), until: new Date() })
    await built
    return { env, ownerUrl, origin, password, told, remove }
  } catch (error) {
    await remove()
    throw error
  }
}
