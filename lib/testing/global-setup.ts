import type { TestProject } from 'vitest/node'
import { prepareDatabase } from '#lib/stores/postgres/preparation.ts'
import { startTemporary } from '#lib/stores/postgres/temporary.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** The migrated database that every test file clones. */
    template: { ownerUrl: string; appUrl: string }
  }
}

/** One cluster for the whole run, with one migrated database in it, from which each test file gets a copy. */
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
  return () => cluster.stop()
}
