import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { readEnv } from '#lib/env.ts'

/** Where `.ci/services` puts what it builds and fetches, beside no checkout, so that it is done once per machine. */
const home = join(homedir(), '.cache', 'knowledgepulse-services')
export const files = {
  neo4j: join(home, 'neo4j', 'lib'),
  s3: join(home, 'bin', 'versitygw'),
  gcs: join(home, 'bin', 'fake-gcs-server'),
}
export type ServiceName = keyof typeof files
const services: readonly ServiceName[] = ['neo4j', 's3', 'gcs']
const names: Record<ServiceName, string> = { neo4j: 'Neo4j', s3: 'an S3 server (versitygw)', gcs: 'fake-gcs-server' }

/** Whether this machine can start it, for `describe.skipIf`. Throws under KP_REQUIRE_SERVICES when it cannot. */
export function isInstalled(service: ServiceName): boolean {
  if (existsSync(files[service])) return true
  if (readEnv().KP_REQUIRE_SERVICES)
    throw new Error(`${names[service]} is not installed, and KP_REQUIRE_SERVICES asks for it: run .ci/services`)
  return false
}

/** In words, for the end of a run. */
export const missingServices = (): string[] =>
  services.filter((service) => !existsSync(files[service])).map((service) => names[service])
