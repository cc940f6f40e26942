import type { TestProject } from 'vitest/node'
import { prepareDatabase } from '#lib/stores/postgres/preparation.ts'
import { startTemporary } from '#lib/stores/postgres/temporary.ts'
import { openDesk } from './services/desk.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** The migrated database that every test file clones. */
    template: { ownerUrl: string; appUrl: string }
    /**
     * The address from which lib/testing/services/shared.ts requests Neo4j, S3 and Google Cloud Storage. They start at
     * the first request.
     */
    services: string
  }
}

/** Starts one cluster for the whole run, with a migrated database that each test file copies, and one server per requested service. */
export default async function setup(project: TestProject) {
  const cluster = await startTemporary()
  try {
    const ownerUrl = cluster.ownerUrl('kp_template')
    const { appUrl } = await prepareDatabase({
      ownerUrl,
      secret: 'only for the databases of one test run',
      mayCreateDatabase: true,
    })
    project.provide('template', { ownerUrl, appUrl })
  } catch (error) {
    await cluster.stop()
    throw error
  }
  const desk = await openDesk()
  project.provide('services', desk.address)
  return async () => {
    await desk.close()
    await cluster.stop()
  }
}
